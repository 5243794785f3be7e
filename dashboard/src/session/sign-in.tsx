import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { api, unwrap } from '../api/client.ts';
import { CardPage } from './card-page.tsx';
import { SignInForm } from './sign-in-form.tsx';

export function SignInPage() {
  const { next } = useSearch({ strict: false }) as { next?: string };
  const navigate = useNavigate();
  const router = useRouter();
  const setup = useQuery({
    queryKey: ['setup'],
    queryFn: () => unwrap(api.GET('/api/v1/setup')),
    staleTime: 0,
  });
  const needed = setup.data?.needed === true;
  useEffect(() => {
    if (needed) void navigate({ to: '/setup', replace: true });
  }, [needed, navigate]);
  const proceed = () => {
    // Always below /app, so that a crafted link cannot redirect to another site.
    if (next?.startsWith('/')) router.history.push(`/app${next}`);
    else void navigate({ to: '/' });
  };
  return (
    <CardPage
      title="Sign in"
      below={
        <Link to="/reset-password" className="rounded hover:text-ink hover:underline">
          Forgot password?
        </Link>
      }
    >
      <SignInForm onDone={proceed} />
    </CardPage>
  );
}
