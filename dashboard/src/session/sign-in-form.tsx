import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { toProblem } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { Field, PasswordInput, TextInput } from '../components/field.tsx';
import { CardForm } from './card-form.tsx';
import { completeSignIn, type Me } from './session.ts';

/** Email and password, then the second factor if the account has one. */
export function SignInForm({
  email: knownEmail,
  onDone,
}: {
  /** The user who must sign in again; read-only. */
  email?: string;
  onDone: (me: Me) => void;
}) {
  const queries = useQueryClient();
  const [email, setEmail] = useState(knownEmail ?? '');
  const [password, setPassword] = useState('');
  const [challenge, setChallenge] = useState<string | null>(null);
  const done = (me: Me) => {
    completeSignIn(queries, me);
    onDone(me);
  };
  const signingIn = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/session', { body: { email: email.trim(), password } })),
    onSuccess: (response) => {
      if (response.me) done(response.me);
      else setChallenge(response.challenge);
    },
  });
  if (challenge !== null) {
    return <SecondFactor challenge={challenge} onDone={done} onEnd={() => setChallenge(null)} />;
  }
  return (
    <CardForm saving={signingIn} submitLabel="Sign in">
      <Field label="Email">
        <TextInput
          type="email"
          name="email"
          // The browser also suggests the passkeys that the sign-in page offers.
          autoComplete={knownEmail === undefined ? 'username webauthn' : 'username'}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          readOnly={knownEmail !== undefined}
          required
          autoFocus={knownEmail === undefined}
        />
      </Field>
      <Field label="Password">
        <PasswordInput
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          required
          autoFocus={knownEmail !== undefined}
        />
      </Field>
    </CardForm>
  );
}

function SecondFactor({
  challenge,
  onDone,
  onEnd,
}: {
  challenge: string;
  onDone: (me: Me) => void;
  /** Asks for the password again. */
  onEnd: () => void;
}) {
  const [code, setCode] = useState('');
  const verifying = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/session/second-factor', { body: { challenge, code: code.trim() } })),
    onSuccess: (response) => {
      if (response.me) onDone(response.me);
    },
  });
  if (toProblem(verifying.error).code === 'invalid_link') {
    return (
      <div className="grid gap-4">
        <ErrorAlert error={verifying.error} />
        {/* The key makes it a new element, which takes the focus; the last form had a button here. */}
        <Button key="restart" kind="primary" className="w-full" autoFocus onClick={onEnd}>
          Start over
        </Button>
      </div>
    );
  }
  return (
    <div className="grid gap-2">
      <CardForm saving={verifying} submitLabel="Continue">
        <Field
          label="Code"
          hint="The 6-digit code from your authenticator app, or a recovery code."
        >
          <TextInput
            name="code"
            mono
            autoComplete="one-time-code"
            autoCapitalize="none"
            value={code}
            onChange={(event) => setCode(event.target.value)}
            required
            autoFocus
          />
        </Field>
      </CardForm>
      <Button kind="quiet" className="w-full" onClick={onEnd}>
        Back
      </Button>
    </div>
  );
}

export function ForgotPassword() {
  return (
    <Link to="/reset-password" className="rounded hover:text-ink hover:underline">
      Forgot password?
    </Link>
  );
}
