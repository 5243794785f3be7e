import { type ReactNode, useState } from 'react';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { Field, TextInput } from '../components/field.tsx';
import { createStore, useStore } from '../lib/store.ts';

/** Asks before a destructive action. The action runs inside the dialog, which shows its errors. */
export interface Confirmation {
  title: string;
  body: ReactNode;
  /** The button's label: a verb, not "OK". */
  confirmLabel: string;
  /** Text the user must type first, for actions that cannot be undone. */
  typeToConfirm?: string;
  run: () => Promise<unknown>;
}

const pending = createStore<Confirmation | undefined>(undefined);

export function requestConfirmation(confirmation: Confirmation): void {
  pending.set(confirmation);
}

export function ConfirmDialog() {
  const confirmation = useStore(pending);
  return confirmation ? <ConfirmForm key={confirmation.title} confirmation={confirmation} /> : null;
}

function ConfirmForm({ confirmation }: { confirmation: Confirmation }) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const close = () => pending.set(undefined);
  const ready =
    confirmation.typeToConfirm === undefined || typed.trim() === confirmation.typeToConfirm;
  const run = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await confirmation.run();
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={confirmation.title} onClose={close} skipDiscardCheck>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) void run();
        }}
      >
        <div className="text-sm text-soft">{confirmation.body}</div>
        {confirmation.typeToConfirm !== undefined && (
          <Field
            label={
              <>
                Type <code className="font-mono font-semibold">{confirmation.typeToConfirm}</code>{' '}
                to confirm{' '}
              </>
            }
          >
            <TextInput value={typed} onChange={(event) => setTyped(event.target.value)} />
          </Field>
        )}
        {error !== undefined && <ErrorAlert error={error} />}
        <DialogButtons>
          <Button onClick={close}>Cancel</Button>
          <Button
            type="submit"
            kind="danger"
            busy={busy}
            disabled={!ready}
            data-first-focus={confirmation.typeToConfirm === undefined || undefined}
          >
            {confirmation.confirmLabel}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
