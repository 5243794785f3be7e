import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { Alert, ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { CardPage } from './card-page.tsx';
import { completeSignIn } from './session.ts';

const FIELDS = ['/name', '/email', '/password', '/workspace_name'];

/** First run: creates the owner's account, from the server itself or with the printed one-time link. */
export function SetupPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [token] = useState(() => location.hash.slice(1));
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
      void navigate({ to: '/' });
    },
  });
  // Set up in the meantime by someone else; after our own setup we go to the overview instead.
  const done = setup.data?.needed === false && !creating.isPending && !creating.isSuccess;
  useEffect(() => {
    if (done) void navigate({ to: '/sign-in', replace: true });
  }, [done, navigate]);
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  return (
    <CardPage
      title="Welcome"
      description="Create the first account. You’ll be the owner of this Postrider instance."
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          creating.mutate();
        }}
      >
        {setup.data?.link_required && token === '' && (
          <Alert tone="warn" title="You’re not on the server">
            <p>
              Open the one-time link that Postrider printed at startup. It looks like{' '}
              <code className="font-mono text-xs break-all">/app/setup#…</code>
            </p>
          </Alert>
        )}
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
        <Field
          label="Password"
          hint="At least 10 characters. A short phrase works well."
          error={fieldError(creating.error, '/password')}
        >
          <TextInput
            type="password"
            name="password"
            autoComplete="new-password"
            value={form.password}
            onChange={set('password')}
            required
          />
        </Field>
        <Field label="Workspace" optional error={fieldError(creating.error, '/workspace_name')}>
          <TextInput
            name="workspace"
            placeholder="Acme"
            value={form.workspace_name}
            onChange={set('workspace_name')}
          />
        </Field>
        {creating.isError && !hasOnlyFieldErrors(creating.error, FIELDS) && (
          <ErrorAlert error={creating.error} />
        )}
        {setup.isError && <ErrorAlert error={setup.error} onRetry={() => void setup.refetch()} />}
        <Button type="submit" kind="primary" busy={creating.isPending} className="w-full">
          Create account
        </Button>
      </form>
    </CardPage>
  );
}
