import { fieldError } from '../../api/problem.ts';
import { Field, TextInput } from '../../components/field.tsx';
import { useMe } from '../../session/session.ts';

export const EMPTY_IDENTITY = { password: '', code: '' };

type Identity = typeof EMPTY_IDENTITY;

/** The password, and a code if two-factor authentication is on. */
export function IdentityFields({
  value,
  onChange,
  error,
}: {
  value: Identity;
  onChange: (value: Identity) => void;
  error: unknown;
}) {
  const { totp_enabled } = useMe();
  return (
    <>
      <Field label="Your password" error={fieldError(error, '/password')}>
        <TextInput
          type="password"
          autoComplete="current-password"
          value={value.password}
          onChange={(event) => onChange({ ...value, password: event.target.value })}
          required
        />
      </Field>
      {totp_enabled && (
        <Field
          label="Code"
          hint="The 6-digit code from your authenticator app, or a recovery code."
          error={fieldError(error, '/code')}
        >
          <TextInput
            mono
            autoComplete="one-time-code"
            value={value.code}
            onChange={(event) => onChange({ ...value, code: event.target.value })}
            required
          />
        </Field>
      )}
    </>
  );
}

export function identityBody({ password, code }: Identity) {
  return code.trim() === '' ? { password } : { password, code: code.trim() };
}
