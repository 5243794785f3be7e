import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { fieldError, hasOnlyFieldErrors } from '../api/problem.ts';
import { ErrorAlert } from './alert.tsx';
import { Button } from './button.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { Field, TextInput } from './field.tsx';
import { useErrorFocus } from './use-error-focus.ts';

/** A form in a dialog: errors that belong to none of its fields, Cancel, and a button that submits. */
export function DialogForm({
  saving,
  fields = [],
  submitLabel,
  cancelLabel = 'Cancel',
  danger,
  disabled,
  readOnly,
  focusSubmit,
  onClose,
  children,
}: {
  saving: { mutate: () => void; isPending: boolean; isError: boolean; error: unknown };
  /** The JSON Pointers whose errors are shown at their fields. */
  fields?: readonly string[];
  submitLabel: string;
  cancelLabel?: string;
  danger?: boolean | undefined;
  /** Not complete enough to submit. */
  disabled?: boolean;
  /** Shows the fields without buttons. */
  readOnly?: boolean;
  /** For forms without fields: focuses the button that submits instead of Cancel. */
  focusSubmit?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const form = useErrorFocus(saving.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form ref={form} className="grid gap-4" onSubmit={submit}>
      {children}
      {saving.isError && !hasOnlyFieldErrors(saving.error, fields) && (
        <ErrorAlert error={saving.error} />
      )}
      {!readOnly && (
        <DialogButtons>
          <Button onClick={onClose}>{cancelLabel}</Button>
          <Button
            type="submit"
            kind={danger ? 'danger' : 'primary'}
            busy={saving.isPending}
            disabled={disabled}
            {...(focusSubmit ? { 'data-first-focus': true } : {})}
          >
            {submitLabel}
          </Button>
        </DialogButtons>
      )}
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
