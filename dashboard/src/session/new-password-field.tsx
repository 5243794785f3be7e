import { Field, TextInput } from '../components/field.tsx';

export function NewPasswordField({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  return (
    <Field
      label="New password"
      hint="At least 10 characters. A short phrase works well."
      error={error}
    >
      <TextInput
        type="password"
        autoComplete="new-password"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        required
        autoFocus
      />
    </Field>
  );
}
