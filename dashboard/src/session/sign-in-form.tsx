import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { toProblem } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
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
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signingIn.mutate();
  };
  if (challenge !== null) {
    return (
      <SecondFactor challenge={challenge} onDone={done} onExpired={() => setChallenge(null)} />
    );
  }
  return (
    <form className="grid gap-4" onSubmit={submit}>
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
        <TextInput
          type="password"
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          required
          autoFocus={knownEmail !== undefined}
        />
      </Field>
      {signingIn.isError && <ErrorAlert error={signingIn.error} />}
      <Button type="submit" kind="primary" busy={signingIn.isPending} className="w-full">
        Sign in
      </Button>
    </form>
  );
}

function SecondFactor({
  challenge,
  onDone,
  onExpired,
}: {
  challenge: string;
  onDone: (me: Me) => void;
  onExpired: () => void;
}) {
  const [code, setCode] = useState('');
  const verifying = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/session/second-factor', { body: { challenge, code: code.trim() } })),
    onSuccess: (response) => {
      if (response.me) onDone(response.me);
    },
  });
  const done = verifying.isError && toProblem(verifying.error).code === 'invalid_link';
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        verifying.mutate();
      }}
    >
      <Field label="Code" hint="The 6-digit code from your authenticator app, or a recovery code.">
        <TextInput
          name="code"
          mono
          autoComplete="one-time-code"
          value={code}
          onChange={(event) => setCode(event.target.value)}
          required
          autoFocus
        />
      </Field>
      {verifying.isError && <ErrorAlert error={verifying.error} />}
      {done ? (
        <Button kind="primary" className="w-full" onClick={onExpired}>
          Start over
        </Button>
      ) : (
        <Button type="submit" kind="primary" busy={verifying.isPending} className="w-full">
          Continue
        </Button>
      )}
    </form>
  );
}
