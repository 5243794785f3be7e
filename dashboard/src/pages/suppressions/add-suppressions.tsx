import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, Select, TextArea, TextInput } from '../../components/field.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
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
  const lines = [...new Set(text.split(/[\s,;]+/).filter((line) => line !== ''))];
  const adding = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/suppressions/bulk', {
          body: {
            suppressions: lines.map((line) => ({
              ...(line.includes('@') ? { email: line } : { domain: line }),
              reason,
              ...(stream ? { stream } : {}),
              ...(note.trim() ? { note: note.trim() } : {}),
            })),
          },
        }),
      ),
    onSuccess: async (response) => {
      await queries.invalidateQueries({ queryKey: ['suppressions'] });
      if (response.failed > 0) return;
      showToast(`${formatCount(response.created, 'entry', 'entries')} added.`);
      onClose();
    },
  });
  const failed = adding.data?.data.filter(({ error }) => error !== undefined) ?? [];
  return (
    <Dialog title="Add suppressions" onClose={onClose}>
      <DialogForm
        saving={adding}
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
        {failed.length > 0 && (
          <Alert tone="bad" title={`${formatCount(failed.length, 'invalid line')}`}>
            <ul className="list-disc pl-4">
              {failed.slice(0, 8).map(({ index, error }) => (
                <li key={index}>
                  <code className="font-mono text-xs">{lines[index]}</code>{' '}
                  {error?.errors[0]?.detail ?? error?.detail}
                </li>
              ))}
            </ul>
          </Alert>
        )}
      </DialogForm>
    </Dialog>
  );
}
