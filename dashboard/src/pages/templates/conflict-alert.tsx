import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Alert } from '../../components/alert.tsx';
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
  locales: 'languages',
  variables: 'variables',
};

const list = new Intl.ListFormat('en');

/** Two wrote in the same place: whose words stay is for people to say. */
export function ConflictAlert({ conflict }: { conflict: Conflict }) {
  const nameOf = useActorName();
  const [looking, setLooking] = useState(false);
  const { theirs, fields } = conflict;
  const who = nameOf(theirs.updated_by);
  const what = list.format(fields.map((name) => FIELDS[name]));
  return (
    <Alert
      tone="warn"
      className="mx-4 mb-3 sm:mx-6"
      title={
        <>
          Changed meanwhile by {who === 'you' ? 'you, in another window' : who},{' '}
          <Time at={theirs.updated_at} />
        </>
      }
    >
      <p>
        Both wrote the {what}. What you see here is yours and is not saved: choose which one stays.
      </p>
      <div className="mt-1 flex flex-wrap gap-2">
        <Button size="small" onClick={() => setLooking(true)}>
          Look at theirs
        </Button>
        <Button size="small" onClick={() => void conflict.takeTheirs()}>
          Load theirs, drop mine
        </Button>
        <Button size="small" kind="danger" onClick={conflict.keepMine}>
          Overwrite theirs with mine
        </Button>
      </div>
      {looking && <TheirVersionDialog conflict={conflict} onClose={() => setLooking(false)} />}
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
  const written = toDraftFields(theirs);
  return (
    <Dialog
      title="What the other wrote"
      description="Only where it clashes with yours. It can be copied."
      onClose={onClose}
      wide
    >
      <div className="grid gap-4">
        {fields.map((name) => {
          const value = written[name];
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
