import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CalendarClock, CircleX, Download, Ellipsis, RotateCw, Send } from 'lucide-react';
import { useState } from 'react';
import { fetchRaw, type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { localTime } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { useCan } from '../../session/session.ts';

type Message = Schema<'Message'>;

export const CANCELLABLE = ['scheduled', 'queued', 'deferred'];
export const RETRYABLE = ['deferred', 'bounced', 'failed', 'expired'];

export function hasRecipientIn(
  { recipients }: Pick<Message, 'recipients'>,
  states: readonly string[],
): boolean {
  return recipients.some(({ status }) => states.includes(status));
}

/** The actions available for a message, depending on the status of its recipients. */
export function MessageActions({ message }: { message: Message }) {
  const { api, selection } = useApi();
  const queries = useQueryClient();
  const canWrite = useCan()('write:messages');
  const [rescheduling, setRescheduling] = useState(false);
  const some = (states: readonly string[]) => canWrite && hasRecipientIn(message, states);
  const params = { path: { id: message.id } };
  const refresh = async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['message'] }),
      queries.invalidateQueries({ queryKey: ['messages'] }),
    ]);
  };
  const retrying = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/messages/{id}/retry', { params })),
    onSuccess: async () => {
      await refresh();
      showToast('Retrying now.');
    },
    onError: showErrorToast,
  });
  const sending = useMutation({
    mutationFn: () =>
      unwrap(api.PATCH('/api/v1/messages/{id}', { params, body: { scheduled_at: null } })),
    onSuccess: async () => {
      await refresh();
      showToast('Sending now.');
    },
    onError: showErrorToast,
  });
  const cancel = () =>
    requestConfirmation({
      title: 'Cancel this message?',
      body: 'It will not be sent to recipients who haven’t received it yet.',
      confirmLabel: 'Cancel message',
      run: async () => {
        await unwrap(api.POST('/api/v1/messages/{id}/cancel', { params }));
        await refresh();
        showToast('Message cancelled.');
      },
    });
  return (
    <>
      {some(RETRYABLE) && (
        <Button icon={RotateCw} busy={retrying.isPending} onClick={() => retrying.mutate()}>
          Retry now
        </Button>
      )}
      {some(['scheduled']) && (
        <Button icon={Send} busy={sending.isPending} onClick={() => sending.mutate()}>
          Send now
        </Button>
      )}
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
        <MenuItem
          icon={Download}
          onSelect={() => void download(selection, message.id).catch(showErrorToast)}
        >
          Download .eml
        </MenuItem>
        {some(['scheduled']) && (
          <MenuItem icon={CalendarClock} onSelect={() => setRescheduling(true)}>
            Reschedule
          </MenuItem>
        )}
        {some(CANCELLABLE) && (
          <MenuItem icon={CircleX} danger onSelect={cancel}>
            Cancel
          </MenuItem>
        )}
      </Menu>
      {rescheduling && (
        <Reschedule message={message} onClose={() => setRescheduling(false)} onChanged={refresh} />
      )}
    </>
  );
}

async function download(selection: Parameters<typeof fetchRaw>[0], id: string): Promise<void> {
  const response = await fetchRaw(selection, `/api/v1/messages/${id}/raw`);
  downloadFile(await response.blob(), `${id}.eml`);
}

function Reschedule({
  message,
  onClose,
  onChanged,
}: {
  message: Message;
  onClose: () => void;
  onChanged: () => Promise<void>;
}) {
  const { api } = useApi();
  const [at, setAt] = useState(() => localTime(message.scheduled_at ?? new Date().toISOString()));
  const changing = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH('/api/v1/messages/{id}', {
          params: { path: { id: message.id } },
          body: { scheduled_at: new Date(at).toISOString() },
        }),
      ),
    onSuccess: async () => {
      await onChanged();
      showToast('Message rescheduled.');
      onClose();
    },
  });
  return (
    <Dialog title="Reschedule" onClose={onClose}>
      <DialogForm
        saving={changing}
        fields={['/scheduled_at']}
        submitLabel="Reschedule"
        onClose={onClose}
      >
        <Field
          label="Send at"
          hint="In your local time zone."
          error={fieldError(changing.error, '/scheduled_at')}
        >
          <TextInput
            type="datetime-local"
            value={at}
            onChange={(event) => setAt(event.target.value)}
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}
