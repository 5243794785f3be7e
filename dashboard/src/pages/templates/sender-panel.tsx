import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { useCan } from '../../session/session.ts';
import { StreamSelect } from '../streams/stream-select.tsx';
import type { Draft } from './use-draft.ts';

/** The default sender, reply-to address and stream, which a request may override. */
export function SenderPanel({ draft }: { draft: Draft }) {
  const canWrite = useCan()('write:templates');
  const { from, reply_to, stream } = draft.fields;
  const [first, ...others] = reply_to;
  const stored = {
    name: from?.name ?? '',
    email: from?.email ?? '',
    replyTo: first?.email ?? '',
    stream: stream ?? '',
  };
  const [typed, setTyped] = useState<Partial<typeof stored>>({});
  // The state of the draft includes saves of other fields, which must not swallow a click here.
  const [saving, setSaving] = useState(false);
  const form = { ...stored, ...typed };
  const save = () => {
    const name = form.name.trim();
    const email = form.email.trim();
    const replyTo = form.replyTo.trim();
    draft.set({
      from: email === '' ? null : { email, ...(name === '' ? {} : { name }) },
      reply_to: replyTo === '' ? others : [{ ...first, email: replyTo }, ...others],
      stream: form.stream === '' ? null : form.stream,
    });
    setSaving(true);
    draft
      .saveNow()
      .then(
        () => setTyped({}),
        () => {},
      )
      .finally(() => setSaving(false));
  };
  const input = (field: keyof typeof stored) => ({
    value: form[field],
    readOnly: !canWrite,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
      setTyped({ ...typed, [field]: event.target.value }),
  });
  return (
    <form
      className="grid max-w-md gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Field
        label="Default From address"
        optional
        hint="Used by requests without a sender. Live mail needs a verified domain."
      >
        <TextInput
          type="email"
          placeholder="hello@yourdomain.com"
          required={form.name.trim() !== ''}
          {...input('email')}
        />
      </Field>
      <Field label="Default From name" optional>
        <TextInput placeholder="Example Inc." {...input('name')} />
      </Field>
      <Field
        label="Default Reply-To address"
        optional
        hint={
          others.length > 0 ? `Also: ${others.map(({ email }) => email).join(', ')}` : undefined
        }
      >
        <TextInput placeholder="support@yourdomain.com" {...input('replyTo')} />
      </Field>
      <Field label="Default stream">
        <StreamSelect
          none="That of the API key"
          value={form.stream}
          disabled={!canWrite}
          onChange={(key) => setTyped({ ...typed, stream: key })}
        />
      </Field>
      {canWrite && (
        <div>
          <Button
            type="submit"
            kind="primary"
            disabled={Object.keys(typed).length === 0}
            busy={saving}
          >
            Save sender
          </Button>
        </div>
      )}
    </form>
  );
}
