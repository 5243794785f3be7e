import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { Button, buttonClass } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { Alert, ErrorAlert } from '../components/alert.tsx';
import { CardPage } from './card-page.tsx';

export function ResetPasswordPage() {
  const [token] = useState(() => location.hash.slice(1));
  return token === '' ? <AskForLink /> : <NewPassword token={token} />;
}

function AskForLink() {
  const [email, setEmail] = useState('');
  const asking = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/password-resets', { body: { email: email.trim() } })),
  });
  return (
    <CardPage
      title="Forgotten password"
      description="We send you a link with which you can choose a new one."
      below={<BackToSignIn />}
    >
      {asking.isSuccess ? (
        <Alert tone="good" title="Look into your mail">
          <p>
            If {email} has an account here, a link is on its way. Where no sending domain is set up
            yet, the link stands in the server’s log.
          </p>
        </Alert>
      ) : (
        <form
          className="grid gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            asking.mutate();
          }}
        >
          <Field label="E-mail">
            <TextInput
              type="email"
              autoComplete="username"
              value={email}
              onChange={(event) => setEmail(event.target.value)}
              required
              autoFocus
            />
          </Field>
          {asking.isError && <ErrorAlert error={asking.error} />}
          <Button type="submit" kind="primary" busy={asking.isPending} className="w-full">
            Send the link
          </Button>
        </form>
      )}
    </CardPage>
  );
}

function NewPassword({ token }: { token: string }) {
  const [password, setPassword] = useState('');
  const changing = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/password-resets/complete', { body: { token, password } })),
  });
  if (changing.isSuccess) {
    return (
      <CardPage title="Your password is new">
        <p className="mb-4 text-sm text-soft">Every session has ended. Sign in with the new one.</p>
        <Link to="/sign-in" className={`${buttonClass('primary')} w-full`}>
          Sign in
        </Link>
      </CardPage>
    );
  }
  return (
    <CardPage title="Choose a new password" below={<BackToSignIn />}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <Field
          label="New password"
          hint="At least 10 characters; a few words make a good one."
          error={fieldError(changing.error, '/password')}
        >
          <TextInput
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            required
            autoFocus
          />
        </Field>
        {changing.isError && !hasOnlyFieldErrors(changing.error, ['/password']) && (
          <ErrorAlert error={changing.error} />
        )}
        <Button type="submit" kind="primary" busy={changing.isPending} className="w-full">
          Change password
        </Button>
      </form>
    </CardPage>
  );
}

function BackToSignIn() {
  return (
    <Link to="/sign-in" className="rounded hover:text-ink hover:underline">
      Back to sign in
    </Link>
  );
}
