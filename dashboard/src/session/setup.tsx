import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { CardForm } from './card-form.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';
import { NewPasswordField } from './new-password-field.tsx';
import { completeSignIn } from './session.ts';

const FIELDS = ['/name', '/email', '/password', '/workspace_name'];

/** First run: creates the owner's account, from the server itself or with the printed one-time link. */
export function SetupPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const token = useLinkToken();
  const [form, setForm] = useState({ name: '', email: '', password: '', workspace_name: '' });
  const setup = useQuery({
    queryKey: ['setup'],
    queryFn: () => unwrap(api.GET('/api/v1/setup')),
    staleTime: 0,
  });
  const creating = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/setup', {
          body: {
            name: form.name.trim(),
            email: form.email.trim(),
            password: form.password,
            ...(form.workspace_name.trim() ? { workspace_name: form.workspace_name.trim() } : {}),
            ...(token ? { token } : {}),
          },
        }),
      ),
    onSuccess: ({ me }) => {
      if (!me) return;
      queries.setQueryData(['setup'], { needed: false, link_required: false });
      completeSignIn(queries, me);
      void navigate({ to: '/', replace: true });
    },
  });
  // Set up in the meantime by someone else; after our own setup we go to the overview instead.
  const done = setup.data?.needed === false && !creating.isPending && !creating.isSuccess;
  useEffect(() => {
    if (done) void navigate({ to: '/sign-in', replace: true });
  }, [done, navigate]);
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  if (setup.data?.link_required && token === '') return <LinkRequired />;
  return (
    <CardPage
      title="Welcome"
      description="Create the first account. You’ll be the owner of this Postrider instance."
    >
      {setup.isPending && <SkeletonRows rows={3} />}
      {setup.isError && <ErrorAlert error={setup.error} onRetry={() => void setup.refetch()} />}
      {setup.data && (
        <CardForm saving={creating} fields={FIELDS} submitLabel="Create account">
          <Field label="Your name" error={fieldError(creating.error, '/name')}>
            <TextInput
              name="name"
              autoComplete="name"
              value={form.name}
              onChange={set('name')}
              required
              autoFocus
            />
          </Field>
          <Field label="Email" error={fieldError(creating.error, '/email')}>
            <TextInput
              type="email"
              name="email"
              autoComplete="username"
              value={form.email}
              onChange={set('email')}
              required
            />
          </Field>
          <NewPasswordField
            label="Password"
            value={form.password}
            onChange={(password) => setForm({ ...form, password })}
            error={fieldError(creating.error, '/password')}
          />
          <Field
            label="Workspace name"
            optional
            hint="Your company or product. You can rename it later."
            error={fieldError(creating.error, '/workspace_name')}
          >
            <TextInput
              name="workspace"
              autoComplete="organization"
              value={form.workspace_name}
              onChange={set('workspace_name')}
            />
          </Field>
        </CardForm>
      )}
    </CardPage>
  );
}

function LinkRequired() {
  return (
    <CardPage
      title="Open the setup link"
      description="You are not on the server itself, so the first account needs the one-time link that Postrider prints when it starts:"
    >
      <code className="block rounded-md bg-sunken px-3 py-2 font-mono text-xs">
        {location.origin}/app/setup#…
      </code>
      <p className="mt-4 text-sm text-soft">
        Look for it in the terminal or the log of the server. Restarting Postrider prints it again.
      </p>
    </CardPage>
  );
}
