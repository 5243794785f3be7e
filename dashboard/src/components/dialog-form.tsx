import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { ErrorAlert } from './alert.tsx';
import { Button } from './button.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { Field, TextInput } from './field.tsx';

/** A form in a dialog: errors that belong to none of its fields, Cancel, and a button that submits. */
export function DialogForm({
  saving,
  fields,
  submitLabel,
  onClose,
  children,
}: {
  saving: { mutate: () => void; isPending: boolean; isError: boolean; error: unknown };
  /** The JSON Pointers whose errors are shown at their fields. */
  fields: readonly string[];
  submitLabel: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form className="grid gap-4" onSubmit={submit}>
      {children}
      {saving.isError && !hasOnlyFieldErrors(saving.error, fields) && (
        <ErrorAlert error={saving.error} />
      )}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={saving.isPending}>
          {submitLabel}
        </Button>
      </DialogButtons>
    </form>
  );
}

/** A dialog that asks for one name, to create or rename something. */
export function NameDialog({
  title,
  description,
  name: current = '',
  submitLabel,
  onSubmit,
  onClose,
}: {
  title: string;
  description?: string;
  /** Of what is renamed. */
  name?: string;
  submitLabel: string;
  /** Does everything that follows, including closing the dialog. */
  onSubmit: (name: string) => Promise<void>;
  onClose: () => void;
}) {
  const [name, setName] = useState(current);
  const saving = useMutation({ mutationFn: () => onSubmit(name.trim()) });
  return (
    <Dialog title={title} description={description} onClose={onClose}>
      <DialogForm saving={saving} fields={['/name']} submitLabel={submitLabel} onClose={onClose}>
        <Field label="Name" error={fieldError(saving.error, '/name')}>
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            maxLength={NAME_CHARS_MAX}
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

const NAME_CHARS_MAX = 100;
