import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button, buttonClass } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { ME_QUERY_KEY, useMe } from '../../session/session.ts';
import { ChangeEmailDialog, VerifyEmailDialog } from './change-email.tsx';
import { AccountDeletionSettings } from './delete-account.tsx';
import { PasskeySettings } from './passkeys.tsx';
import { SecondFactorSettings } from './second-factor.tsx';

export function AccountSettings() {
  const { email, has_password: hasPassword, session } = useMe();
  if (session.limited_to !== null) return <ManagedAccount email={email} />;
  return (
    <div className="grid max-w-2xl gap-5">
      <NameForm />
      {hasPassword ? <PasswordForm /> : <NoPassword />}
      {hasPassword && <SecondFactorSettings />}
      {hasPassword && <PasskeySettings />}
      {hasPassword && <AccountDeletionSettings />}
    </div>
  );
}

/** A session of the workspace's identity provider cannot change the account. */
function ManagedAccount({ email }: { email: string }) {
  return (
    <div className="grid max-w-2xl gap-5">
      <Section title="Profile">
        <Field
          label="Email"
          hint="You signed in with the identity provider of this workspace. To change your account, sign in with your password."
        >
          <TextInput value={email} readOnly />
        </Field>
      </Section>
    </div>
  );
}

function NoPassword() {
  return (
    <Section
      title="Password"
      description="You sign in with your identity provider and have no password. Set one to change your email, add a passkey or delete your account."
    >
      <Link to="/reset-password" className={buttonClass()}>
        Set a password
      </Link>
    </Section>
  );
}

function NameForm() {
  const me = useMe();
  const queries = useQueryClient();
  const [name, setName] = useState(me.name);
  const [changingEmail, setChangingEmail] = useState(false);
  const [verifyingEmail, setVerifyingEmail] = useState(false);
  const saving = useMutation({
    mutationFn: () => unwrap(api.PATCH('/api/v1/me', { body: { name: name.trim() } })),
    onSuccess: (changed) => {
      queries.setQueryData(ME_QUERY_KEY, changed);
      showToast('Name saved.');
    },
  });
  return (
    <Section title="Profile">
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          saving.mutate();
        }}
      >
        <Field
          label="Email"
          hint={
            me.email_verified
              ? undefined
              : 'Not verified yet. Verify it to join other workspaces, and to keep your passkeys and second factor when you reset your password.'
          }
        >
          <TextInput value={me.email} readOnly />
        </Field>
        {me.has_password && (
          <div className="flex flex-wrap gap-2">
            {!me.email_verified && (
              <Button onClick={() => setVerifyingEmail(true)}>Verify email</Button>
            )}
            <Button onClick={() => setChangingEmail(true)}>Change email</Button>
          </div>
        )}
        <Field label="Name" error={fieldError(saving.error, '/name')}>
          <TextInput
            autoComplete="name"
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
          />
        </Field>
        {saving.isError && !hasOnlyFieldErrors(saving.error, ['/name']) && (
          <ErrorAlert error={saving.error} />
        )}
        <div>
          <Button
            type="submit"
            kind="primary"
            busy={saving.isPending}
            disabled={name.trim() === me.name || name.trim() === ''}
          >
            Save
          </Button>
        </div>
      </form>
      {changingEmail && <ChangeEmailDialog onClose={() => setChangingEmail(false)} />}
      {verifyingEmail && <VerifyEmailDialog onClose={() => setVerifyingEmail(false)} />}
    </Section>
  );
}

const PASSWORD_FIELDS = ['/current_password', '/new_password'];

function PasswordForm() {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const changing = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/me/password', {
          body: { current_password: current, new_password: next },
        }),
      ),
    onSuccess: () => {
      setCurrent('');
      setNext('');
      showToast('Password changed. You’ve been signed out everywhere else.');
    },
  });
  return (
    <Section title="Password">
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <Field label="Current password" error={fieldError(changing.error, '/current_password')}>
          <TextInput
            type="password"
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.target.value)}
            required
          />
        </Field>
        <Field
          label="New password"
          hint="At least 10 characters. A short phrase works well."
          error={fieldError(changing.error, '/new_password')}
        >
          <TextInput
            type="password"
            autoComplete="new-password"
            value={next}
            onChange={(event) => setNext(event.target.value)}
            required
          />
        </Field>
        {changing.isError && !hasOnlyFieldErrors(changing.error, PASSWORD_FIELDS) && (
          <ErrorAlert error={changing.error} />
        )}
        <div>
          <Button type="submit" kind="primary" busy={changing.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </Section>
  );
}
