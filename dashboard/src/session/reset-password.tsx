import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { Alert, ErrorAlert } from '../components/alert.tsx';
import { Button, buttonClass } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { CardPage } from './card-page.tsx';
import { NewPasswordField } from './new-password-field.tsx';

export function ResetPasswordPage() {
  const [token] = useState(() => location.hash.slice(1));
  return token === '' ? <RequestLink /> : <NewPassword token={token} />;
}

function RequestLink() {
  const [email, setEmail] = useState('');
  const requesting = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/password-resets', { body: { email: email.trim() } })),
  });
  return (
    <CardPage
      title="Reset password"
      description="We’ll email you a link to set a new password."
      below={<BackToSignIn />}
    >
      {requesting.isSuccess ? (
        <Alert tone="good" title="Check your inbox">
          <p>
            If {email} has an account, we sent it a link. If no sending domain is set up yet, the
            link is in the server log.
          </p>
        </Alert>
      ) : (
        <form
          className="grid gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            requesting.mutate();
          }}
        >
          <Field label="Email">
            <TextInput
              type="email"
              autoComplete="username"
              value={email}
              onChange={(event) => setEmail(event.target.value)}
              required
              autoFocus
            />
          </Field>
          {requesting.isError && <ErrorAlert error={requesting.error} />}
          <Button type="submit" kind="primary" busy={requesting.isPending} className="w-full">
            Send link
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
      <CardPage title="Password changed">
        <p className="mb-4 text-sm text-soft">
          You’ve been signed out everywhere. Sign in with your new password.
        </p>
        <Link to="/sign-in" className={`${buttonClass('primary')} w-full`}>
          Sign in
        </Link>
      </CardPage>
    );
  }
  return (
    <CardPage title="Set a new password" below={<BackToSignIn />}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <NewPasswordField
          value={password}
          onChange={setPassword}
          error={fieldError(changing.error, '/password')}
        />
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
