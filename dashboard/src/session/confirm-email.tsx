import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, unwrap } from '../api/client.ts';
import { buttonClass } from '../components/button.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { CardForm } from './card-form.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';
import { ME_QUERY_KEY, useMeQuery } from './session.ts';
import { ForgotPassword, SignInForm } from './sign-in-form.tsx';

/** Confirms a sign-in address. The link works only for the account that requested it. */
export function ConfirmEmailPage() {
  const queries = useQueryClient();
  const token = useLinkToken();
  const me = useMeQuery();
  const confirming = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/me/email/confirm', { body: { token } })),
    onSuccess: (changed) => queries.setQueryData(ME_QUERY_KEY, changed),
  });
  if (confirming.data) {
    return (
      <CardPage title="Email confirmed">
        <p className="mb-4 text-sm text-soft">
          You now sign in with {confirming.data.email}. You’ve been signed out everywhere else.
        </p>
        <Link to="/" className={`${buttonClass('primary')} w-full`}>
          Go to dashboard
        </Link>
      </CardPage>
    );
  }
  if (me.isPending) {
    return (
      <CardPage title="Confirm email">
        <SkeletonRows rows={3} />
      </CardPage>
    );
  }
  if (me.isError) {
    return (
      <CardPage
        title="Confirm email"
        description="Sign in with your current address to continue."
        below={<ForgotPassword />}
      >
        <SignInForm onDone={() => confirming.mutate()} />
      </CardPage>
    );
  }
  return (
    <CardPage
      title="Confirm email"
      description={
        <>
          This link confirms an email address for the account of{' '}
          <strong className="font-medium text-ink">{me.data.email}</strong>.
        </>
      }
    >
      <CardForm saving={confirming} submitLabel="Confirm address" />
    </CardPage>
  );
}
