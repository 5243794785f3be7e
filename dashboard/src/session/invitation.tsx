import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Schema, unwrap } from '../api/client.ts';
import { fieldError, toProblem } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { buttonClass } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { CardForm } from './card-form.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';
import { NewPasswordField } from './new-password-field.tsx';
import { selectWorkspace } from './selection.ts';
import { completeSignIn, type Me, useMeQuery } from './session.ts';
import { ForgotPassword, SignInForm } from './sign-in-form.tsx';

const FIELDS = ['/name', '/password'];

/** Accepts an invitation: new users create an account, existing users sign in and join. */
export function InvitationPage() {
  const token = useLinkToken();
  const me = useMeQuery();
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => unwrap(api.POST('/api/v1/invitations/inspect', { body: { token } })),
    retry: false,
  });
  if (invitation.isPending) {
    return (
      <CardPage title="Invitation">
        <SkeletonRows rows={3} />
      </CardPage>
    );
  }
  if (invitation.isError) {
    const { code, moved_to: movedTo, detail } = toProblem(invitation.error);
    return (
      <CardPage
        title="Invitation"
        below={
          <Link to="/" className="rounded hover:text-ink hover:underline">
            Go to dashboard
          </Link>
        }
      >
        {movedTo === undefined ? (
          <ErrorAlert
            error={invitation.error}
            {...(code === 'invalid_link' ? {} : { onRetry: () => void invitation.refetch() })}
          />
        ) : (
          <>
            <p className="text-sm break-words text-soft">
              {detail} Your invitation is valid there.
            </p>
            <a
              href={`${movedTo}/app/invitation#${token}`}
              className={`${buttonClass('primary')} mt-4 w-full`}
            >
              Open the invitation there
            </a>
          </>
        )}
      </CardPage>
    );
  }
  return (
    <AcceptInvitation token={token} invitation={invitation.data} signedInAs={me.data?.email} />
  );
}

function AcceptInvitation({
  token,
  invitation,
  signedInAs,
}: {
  token: string;
  invitation: Schema<'InspectedInvitation'>;
  signedInAs: string | undefined;
}) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState({ name: '', password: '' });
  const { workspace_name, email, role, invited_by_name, account_exists } = invitation;
  const joined = (user: Me | null) => {
    if (!user) return;
    completeSignIn(queries, user);
    const newest = user.workspaces.find(({ name }) => name === workspace_name);
    if (newest) selectWorkspace(newest.id);
    void navigate({ to: '/', replace: true });
  };
  const accepting = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/invitations/accept', {
          body: account_exists
            ? { token }
            : { token, name: form.name.trim(), password: form.password },
        }),
      ),
    onSuccess: (response) => joined(response.me),
  });
  const isMe = signedInAs?.toLowerCase() === email.toLowerCase();
  const mustSignIn = account_exists && !isMe;
  return (
    <CardPage
      title={`Join ${workspace_name}`}
      description={
        <>
          {invited_by_name ?? 'The operator of this server'} invited{' '}
          <strong className="font-medium text-ink">{email}</strong> as{' '}
          {role === 'owner' || role === 'admin' ? 'an' : 'a'} {role}.
        </>
      }
      below={mustSignIn ? <ForgotPassword /> : undefined}
    >
      {mustSignIn ? (
        <SignInForm email={email} onDone={() => accepting.mutate()} />
      ) : (
        <CardForm saving={accepting} fields={FIELDS} submitLabel="Join">
          {!account_exists && (
            <>
              {/* Password managers store the password with it. */}
              <Field label="Email">
                <TextInput type="email" autoComplete="username" value={email} readOnly />
              </Field>
              <Field label="Your name" error={fieldError(accepting.error, '/name')}>
                <TextInput
                  name="name"
                  autoComplete="name"
                  value={form.name}
                  onChange={(event) => setForm({ ...form, name: event.target.value })}
                  required
                  autoFocus
                />
              </Field>
              <NewPasswordField
                label="Password"
                value={form.password}
                onChange={(password) => setForm({ ...form, password })}
                error={fieldError(accepting.error, '/password')}
              />
            </>
          )}
        </CardForm>
      )}
    </CardPage>
  );
}
