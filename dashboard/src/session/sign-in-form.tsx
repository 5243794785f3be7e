import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, unwrap } from '../api/client.ts';
import { toProblem } from '../api/problem.ts';
import { Button } from '../components/button.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { ErrorAlert } from '../components/alert.tsx';
import { type Me, completeSignIn } from './session.ts';

/** E-mail and password, then the second factor where there is one. */
export function SignInForm({
  email: knownEmail,
  onDone,
}: {
  /** Who must sign in again; cannot be changed. */
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
    mutationFn: () => unwrap(api.POST('/api/v1/session', { body: { email: email.trim(), password } })),
    onSuccess: (answer) => {
      if (answer.me) done(answer.me);
      else setChallenge(answer.challenge);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signingIn.mutate();
  };
  if (challenge !== null) {
    return <SecondFactor challenge={challenge} onDone={done} onOver={() => setChallenge(null)} />;
  }
  return (
    <form className="grid gap-4" onSubmit={submit}>
      <Field label="E-mail">
        <TextInput
          type="email"
          name="email"
          autoComplete="username"
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
  onOver,
}: {
  challenge: string;
  onDone: (me: Me) => void;
  onOver: () => void;
}) {
  const [code, setCode] = useState('');
  const proving = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/session/second-factor', { body: { challenge, code: code.trim() } })),
    onSuccess: (answer) => {
      if (answer.me) onDone(answer.me);
    },
  });
  const over = proving.isError && toProblem(proving.error).code === 'invalid_link';
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        proving.mutate();
      }}
    >
      <Field
        label="Code"
        hint="The six digits that your authenticator shows, or one of your recovery codes."
      >
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
      {proving.isError && <ErrorAlert error={proving.error} />}
      {over ? (
        <Button kind="primary" className="w-full" onClick={onOver}>
          Start again
        </Button>
      ) : (
        <Button type="submit" kind="primary" busy={proving.isPending} className="w-full">
          Go on
        </Button>
      )}
    </form>
  );
}
