import { useState } from 'react';
import { Alert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Time } from '../../components/time.tsx';
import { useActorName } from '../team/actor-name.ts';
import { type FieldName, toDraftFields } from './draft-fields.ts';
import type { Conflict } from './use-draft.ts';

const FIELDS: Record<FieldName, string> = {
  name: 'name',
  subject: 'subject',
  html: 'HTML',
  text: 'text',
  layout: 'layout',
  from: 'sender',
  reply_to: 'reply-to address',
  stream: 'stream',
  locales: 'languages',
  variables: 'variables',
};

const list = new Intl.ListFormat('en');

/** Shown when someone else changed the same fields; the user decides which version to keep. */
export function ConflictAlert({ conflict }: { conflict: Conflict }) {
  const nameOf = useActorName();
  const [viewing, setViewing] = useState(false);
  const { theirs, fields } = conflict;
  const who = nameOf(theirs.updated_by);
  const what = list.format(fields.map((name) => FIELDS[name]));
  return (
    <Alert
      tone="warn"
      className="mx-4 mb-3 sm:mx-6"
      title={
        <>
          Changed by {who === 'you' ? 'you in another window' : who} <Time at={theirs.updated_at} />
        </>
      }
    >
      <p>
        You both edited the {what}. Your version is shown here and is not saved. Choose which one to
        keep.
      </p>
      <div className="mt-1 flex flex-wrap gap-2">
        <Button size="small" onClick={() => setViewing(true)}>
          View theirs
        </Button>
        <Button size="small" onClick={() => void conflict.takeTheirs()}>
          Discard mine, load theirs
        </Button>
        <Button size="small" kind="danger" onClick={conflict.keepMine}>
          Overwrite with mine
        </Button>
      </div>
      {viewing && <TheirVersionDialog conflict={conflict} onClose={() => setViewing(false)} />}
    </Alert>
  );
}

function TheirVersionDialog({
  conflict: { theirs, fields },
  onClose,
}: {
  conflict: Conflict;
  onClose: () => void;
}) {
  const theirFields = toDraftFields(theirs);
  return (
    <Dialog title="Their version" description="The fields you both edited." onClose={onClose} wide>
      <div className="grid gap-4">
        {fields.map((name) => {
          const value = theirFields[name];
          const code = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
          return (
            <section key={name} className="grid gap-1.5">
              <h3 className="text-sm font-medium">{FIELDS[name]}</h3>
              <CodeBlock code={code} label={FIELDS[name]} wrap />
            </section>
          );
        })}
      </div>
    </Dialog>
  );
}
