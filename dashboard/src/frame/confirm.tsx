import { type ReactNode, useState } from 'react';
import { createStore, useStore } from '../base/store.ts';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogButtons } from '../parts/dialog.tsx';
import { Field, TextInput } from '../parts/field.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';

/** Asks before something is destroyed. The work runs inside, so that a refusal shows where it was asked. */
export interface Question {
  title: string;
  body: ReactNode;
  /** What the button does: a verb, not "OK". */
  verb: string;
  /** A word to type first, for what cannot be brought back. */
  typed?: string;
  run: () => Promise<unknown>;
}

const question = createStore<Question | undefined>(undefined);

export function confirmFirst(asked: Question): void {
  question.set(asked);
}

export function ConfirmDialog() {
  const asked = useStore(question);
  return asked ? <Asking key={asked.title} asked={asked} /> : null;
}

function Asking({ asked }: { asked: Question }) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const close = () => question.set(undefined);
  const ready = asked.typed === undefined || typed.trim() === asked.typed;
  const run = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await asked.run();
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={asked.title} onClose={close} nothingToLose>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) void run();
        }}
      >
        <div className="text-sm text-soft">{asked.body}</div>
        {asked.typed !== undefined && (
          <Field
            label={
              <>
                Type <code className="font-mono font-semibold">{asked.typed}</code> to go on
              </>
            }
          >
            <TextInput value={typed} onChange={(event) => setTyped(event.target.value)} />
          </Field>
        )}
        {error !== undefined && <ProblemNote error={error} />}
        <DialogButtons>
          <Button onClick={close}>Keep it</Button>
          <Button
            type="submit"
            kind="danger"
            busy={busy}
            disabled={!ready}
            data-first-focus={asked.typed === undefined || undefined}
          >
            {asked.verb}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
