import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { fieldError, toProblem } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { buttonClass } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { CardForm } from './card-form.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';
import { NewPasswordField } from './new-password-field.tsx';

export function ResetPasswordPage() {
  const token = useLinkToken();
  return token === '' ? <RequestLink /> : <NewPassword token={token} />;
}

function RequestLink() {
  const [email, setEmail] = useState('');
  const requesting = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/password-resets', { body: { email: email.trim() } })),
  });
  if (requesting.isSuccess) {
    return (
      <CardPage
        title="Check your inbox"
        description={
          <>
            If <strong className="font-medium text-ink">{email.trim()}</strong> has an account, we
            sent it a link. The link expires in one hour.
          </>
        }
        below={<BackToSignIn />}
      >
        <p className="text-sm text-soft">
          No email? Check your spam folder. If this server has no verified sending domain yet, the
          link is in its log.
        </p>
      </CardPage>
    );
  }
  return (
    <CardPage
      title="Reset password"
      description="We’ll email you a link to set a new password."
      below={<BackToSignIn />}
    >
      <CardForm saving={requesting} submitLabel="Send link">
        <Field label="Email">
          <TextInput
            type="email"
            name="email"
            autoComplete="username"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
            autoFocus
          />
        </Field>
      </CardForm>
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
  if (toProblem(changing.error).code === 'invalid_link') {
    return (
      <CardPage title="Set a new password" below={<BackToSignIn />}>
        <div className="grid gap-4">
          <ErrorAlert error={changing.error} />
          {/* Loads the page again, without this token. */}
          <a href="/app/reset-password" className={`${buttonClass('primary')} w-full`}>
            Request a new link
          </a>
        </div>
      </CardPage>
    );
  }
  return (
    <CardPage title="Set a new password" below={<BackToSignIn />}>
      <CardForm saving={changing} fields={['/password']} submitLabel="Change password">
        <NewPasswordField
          value={password}
          onChange={setPassword}
          error={fieldError(changing.error, '/password')}
          autoFocus
        />
      </CardForm>
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
