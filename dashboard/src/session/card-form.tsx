import type { ReactNode } from 'react';
import { hasOnlyFieldErrors } from '../api/problem.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { useErrorFocus } from '../components/use-error-focus.ts';

/** The form of a card page: errors that belong to none of its fields, and a button that submits. */
export function CardForm({
  saving,
  fields = [],
  submitLabel,
  children,
}: {
  saving: { mutate: () => void; isPending: boolean; isError: boolean; error: unknown };
  /** The JSON Pointers whose errors are shown at their fields. */
  fields?: readonly string[];
  submitLabel: string;
  children?: ReactNode;
}) {
  const form = useErrorFocus(saving.error);
  return (
    <form
      ref={form}
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      {children}
      {saving.isError && !hasOnlyFieldErrors(saving.error, fields) && (
        <ErrorAlert error={saving.error} />
      )}
      <Button type="submit" kind="primary" busy={saving.isPending} className="w-full">
        {submitLabel}
      </Button>
    </form>
  );
}
