import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask } from '../api/client.ts';
import { fieldError, isAboutFields } from '../api/problem.ts';
import { Button } from '../parts/button.tsx';
import { Field, TextInput } from '../parts/field.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { SkeletonRows } from '../parts/skeleton.tsx';
import { goToWorkspace } from './place.ts';
import { PlainPage } from './plain-page.tsx';
import { type Me, signedIn, useMeQuery } from './session.ts';
import { SignInForm } from './sign-in-form.tsx';

const FIELDS = ['/name', '/password'];

/** Somebody was invited: a new person makes an account, a known one signs in and joins. */
export function InvitationPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [token] = useState(() => location.hash.slice(1));
  const [form, setForm] = useState({ name: '', password: '' });
  const me = useMeQuery();
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => ask(api.POST('/api/v1/invitations/inspect', { body: { token } })),
    retry: false,
  });
  const joined = (person: Me | null) => {
    if (!person) return;
    signedIn(queries, person);
    const newest = person.workspaces.find(({ name }) => name === invitation.data?.workspace_name);
    if (newest) goToWorkspace(newest.id);
    void navigate({ to: '/' });
  };
  const accepting = useMutation({
    mutationFn: () =>
      ask(
        api.POST('/api/v1/invitations/accept', {
          body: invitation.data?.account_exists
            ? { token }
            : { token, name: form.name.trim(), password: form.password },
        }),
      ),
    onSuccess: (answer) => joined(answer.me),
  });
  if (invitation.isPending) {
    return (
      <PlainPage title="Invitation">
        <SkeletonRows rows={3} />
      </PlainPage>
    );
  }
  if (invitation.isError) {
    return (
      <PlainPage
        title="Invitation"
        below={
          <Link to="/" className="rounded hover:text-ink hover:underline">
            Go to the dashboard
          </Link>
        }
      >
        <ProblemNote error={invitation.error} />
      </PlainPage>
    );
  }
  const { workspace_name, email, role, invited_by_name, account_exists } = invitation.data;
  const isMe = me.data?.email.toLowerCase() === email.toLowerCase();
  return (
    <PlainPage
      title={`Join ${workspace_name}`}
      description={
        <>
          {invited_by_name} invited <strong className="font-medium text-ink">{email}</strong> as{' '}
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
                hint="At least 10 characters; a few words make a good one."
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
          {accepting.isError && !isAboutFields(accepting.error, FIELDS) && (
            <ProblemNote error={accepting.error} />
          )}
          <Button type="submit" kind="primary" busy={accepting.isPending} className="w-full">
            Join
          </Button>
        </form>
      )}
    </PlainPage>
  );
}
