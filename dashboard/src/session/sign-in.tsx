import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { api, unwrap } from '../api/client.ts';
import { CardPage } from './card-page.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { currentSelection } from './selection.ts';
import { ForgotPassword, SignInForm } from './sign-in-form.tsx';
import { SingleSignOnButton, useSignInOptions } from './single-sign-on.tsx';

export function SignInPage() {
  const { next, workspace } = useSearch({ strict: false }) as { next?: string; workspace?: string };
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
    if (next?.startsWith('/')) router.history.replace(`/app${next}`);
    else void navigate({ to: '/', replace: true });
  };
  return (
    <CardPage title="Sign in" below={<ForgotPassword />}>
      <div className="grid gap-4">
        {workspace !== undefined && <SingleSignOnFirst workspace={workspace} next={next} />}
        <SignInForm onDone={proceed} />
        <PasskeyButton autofill onDone={proceed} />
        {workspace === undefined && <SingleSignOnButtons next={next} />}
      </div>
    </CardPage>
  );
}

/** For the sign-in link of a workspace. */
function SingleSignOnFirst({ workspace, next }: { workspace: string; next: string | undefined }) {
  const options = useSignInOptions(workspace);
  // Keeps the place, so that nothing moves when the button appears.
  if (options.isPending) return <div className="h-16" />;
  if (!options.data?.single_sign_on) return null;
  return (
    <>
      <SingleSignOnButton workspace={workspace} next={next} />
      <div className="flex items-center gap-3 text-xs text-faint before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </div>
    </>
  );
}

/** The provider of the workspace that this browser used last, and that of the server. */
function SingleSignOnButtons({ next }: { next: string | undefined }) {
  const workspace = currentSelection().workspaceId ?? undefined;
  const last = useSignInOptions(workspace);
  const server = useSignInOptions(undefined);
  const isSame = last.data?.single_sign_on?.name === server.data?.single_sign_on?.name;
  return (
    <>
      <SingleSignOnButton workspace={workspace} next={next} />
      {!last.isPending && !isSame && <SingleSignOnButton workspace={undefined} next={next} />}
    </>
  );
}
