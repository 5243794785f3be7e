import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Schema, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors, toProblem } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button, buttonClass } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { CardPage } from './card-page.tsx';
import { selectWorkspace } from './selection.ts';
import { completeSignIn, type Me, useMeQuery } from './session.ts';
import { SignInForm } from './sign-in-form.tsx';

const FIELDS = ['/name', '/password'];

/** Accepts an invitation: new users create an account, existing users sign in and join. */
export function InvitationPage() {
  const [token] = useState(() => location.hash.slice(1));
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
    const { moved_to: movedTo, detail } = toProblem(invitation.error);
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
          <ErrorAlert error={invitation.error} />
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
    void navigate({ to: '/' });
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
    >
      {account_exists && !isMe ? (
        <SignInForm email={email} onDone={() => accepting.mutate()} />
      ) : (
        <form
          className="grid gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            accepting.mutate();
          }}
        >
          {!account_exists && (
            <>
              <Field label="Your name" error={fieldError(accepting.error, '/name')}>
                <TextInput
                  autoComplete="name"
                  value={form.name}
                  onChange={(event) => setForm({ ...form, name: event.target.value })}
                  required
                  autoFocus
                />
              </Field>
              <Field
                label="Password"
                hint="At least 10 characters. A short phrase works well."
                error={fieldError(accepting.error, '/password')}
              >
                <TextInput
                  type="password"
                  autoComplete="new-password"
                  value={form.password}
                  onChange={(event) => setForm({ ...form, password: event.target.value })}
                  required
                />
              </Field>
            </>
          )}
          {accepting.isError && !hasOnlyFieldErrors(accepting.error, FIELDS) && (
            <ErrorAlert error={accepting.error} />
          )}
          <Button type="submit" kind="primary" busy={accepting.isPending} className="w-full">
            Join
          </Button>
        </form>
      )}
    </CardPage>
  );
}
