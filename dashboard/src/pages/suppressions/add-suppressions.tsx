import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, Select, TextArea, TextInput } from '../../components/field.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { formatCount, formatNumber } from '../../lib/format.ts';
import { StreamSelect } from '../streams/stream-select.tsx';
import { REASONS, type Reason } from './suppression-reasons.ts';

const MAX_ENTRIES = 1_000;

/** Adds one or many entries: a line with an @ is an address, otherwise a domain. */
export function AddSuppressions({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const [reason, setReason] = useState<Reason>('manual');
  const [stream, setStream] = useState('');
  const [note, setNote] = useState('');
  /** The entries that the errors are about: the text may have changed since. */
  const [sent, setSent] = useState<readonly string[]>([]);
  const lines = [...new Set(text.split(/[\s,;]+/).filter((line) => line !== ''))];
  const adding = useMutation({
    mutationFn: () => {
      setSent(lines);
      const suppressions = lines.map((line) => ({
        ...(line.includes('@') ? { email: line } : { domain: line }),
        reason,
        ...(stream ? { stream } : {}),
        ...(note.trim() ? { note: note.trim() } : {}),
      }));
      return unwrap(api.POST('/api/v1/suppressions/bulk', { body: { suppressions } }));
    },
    onSuccess: async (response) => {
      await queries.invalidateQueries({ queryKey: ['suppressions'] });
      if (response.failed > 0) return;
      showToast(`${formatCount(response.created, 'entry', 'entries')} added.`);
      onClose();
    },
  });
  const errors = adding.isError
    ? (toProblem(adding.error).errors ?? [])
    : (adding.data?.data.flatMap(({ error }) => error?.errors ?? []) ?? []);
  const pointers = sent.flatMap((_, index) => pointersOf(index));
  const invalid = errors.filter(({ pointer = '' }) => pointers.includes(pointer));
  const added = adding.data ? adding.data.created + adding.data.existing : 0;
  return (
    <Dialog title="Add suppressions" onClose={onClose}>
      <DialogForm
        saving={adding}
        fields={pointers}
        submitLabel={lines.length > 1 ? `Add ${lines.length}` : 'Add'}
        disabled={lines.length === 0 || lines.length > MAX_ENTRIES}
        onClose={onClose}
      >
        <Field
          label="Addresses or domains"
          hint="One per line. A line without @ suppresses the whole domain."
        >
          <TextArea
            mono
            rows={5}
            value={text}
            onChange={(event) => setText(event.target.value)}
            placeholder={'jane@example.com\nexample.net'}
            required
          />
        </Field>
        <Field label="Reason">
          <Select value={reason} onChange={(event) => setReason(event.target.value as Reason)}>
            {Object.entries(REASONS).map(([value, { label }]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        </Field>
        <Field label="Stream">
          <StreamSelect none="All streams" value={stream} onChange={setStream} />
        </Field>
        <Field label="Note" optional>
          <TextInput
            value={note}
            onChange={(event) => setNote(event.target.value)}
            maxLength={1000}
          />
        </Field>
        {invalid.length > 0 && (
          <Alert
            tone="bad"
            title={`${formatCount(invalid.length, 'invalid entry', 'invalid entries')}. ${added === 0 ? 'Nothing was' : added === 1 ? '1 other was' : `${formatNumber(added)} others were`} added.`}
          >
            <ul className="list-disc pl-4">
              {invalid.slice(0, 8).map(({ pointer = '', detail }) => (
                <li key={pointer}>
                  <code className="font-mono text-xs">{sent[indexOf(pointer)]}</code> {detail}
                </li>
              ))}
            </ul>
          </Alert>
        )}
      </DialogForm>
    </Dialog>
  );
}

function pointersOf(index: number): string[] {
  return [`/suppressions/${index}/email`, `/suppressions/${index}/domain`];
}

function indexOf(pointer: string): number {
  return Number(pointer.split('/')[2]);
}
