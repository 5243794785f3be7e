import { Field, PasswordInput } from '../components/field.tsx';

export function NewPasswordField({
  label = 'New password',
  value,
  onChange,
  error,
  autoFocus,
}: {
  label?: string;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
  autoFocus?: boolean;
}) {
  return (
    <Field label={label} hint="At least 10 characters. A short phrase works well." error={error}>
      <PasswordInput
        name="password"
        autoComplete="new-password"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        required
        autoFocus={autoFocus}
      />
    </Field>
  );
}
