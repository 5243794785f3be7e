import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { Button } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { Alert, ErrorAlert } from '../components/alert.tsx';
import { CardPage } from './card-page.tsx';
import { completeSignIn } from './session.ts';

const FIELDS = ['/name', '/email', '/password', '/workspace_name'];

/** The first visit: whoever comes first, on this machine or with the printed link, owns the house. */
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
  const making = useMutation({
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
  // By somebody else: whoever makes the account here goes in.
  const over = setup.data?.needed === false && !making.isPending && !making.isSuccess;
  useEffect(() => {
    if (over) void navigate({ to: '/sign-in', replace: true });
  }, [over, navigate]);
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  return (
    <CardPage
      title="Welcome"
      description="Nobody has an account here yet. Make yours: you will own this Postrider."
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          making.mutate();
        }}
      >
        {setup.data?.link_required && token === '' && (
          <Alert tone="warn" title="You come from another machine">
            <p>
              Open the one-time link that Postrider printed when it started. It looks like{' '}
              <code className="font-mono text-xs break-all">/app/setup#…</code>
            </p>
          </Alert>
        )}
        <Field label="Your name" error={fieldError(making.error, '/name')}>
          <TextInput
            name="name"
            autoComplete="name"
            value={form.name}
            onChange={set('name')}
            required
            autoFocus
          />
        </Field>
        <Field label="E-mail" error={fieldError(making.error, '/email')}>
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
          hint="At least 10 characters; a few words make a good one."
          error={fieldError(making.error, '/password')}
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
        <Field label="Workspace" optional error={fieldError(making.error, '/workspace_name')}>
          <TextInput
            name="workspace"
            placeholder="Acme"
            value={form.workspace_name}
            onChange={set('workspace_name')}
          />
        </Field>
        {making.isError && !hasOnlyFieldErrors(making.error, FIELDS) && (
          <ErrorAlert error={making.error} />
        )}
        {setup.isError && <ErrorAlert error={setup.error} onRetry={() => void setup.refetch()} />}
        <Button type="submit" kind="primary" busy={making.isPending} className="w-full">
          Create account
        </Button>
      </form>
    </CardPage>
  );
}
