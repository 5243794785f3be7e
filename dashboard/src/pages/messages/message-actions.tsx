import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CalendarClock, CircleX, Download, Ellipsis, RotateCw, Send } from 'lucide-react';
import { useState } from 'react';
import { unwrap, fetchRaw, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast, showErrorToast } from '../../layout/toasts.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { useCan } from '../../session/session.ts';

type Message = Schema<'Message'>;

const CANCELLABLE = ['scheduled', 'queued', 'deferred'];
const RETRYABLE = ['deferred', 'bounced', 'failed', 'expired'];

/** What can still be done with a message, by the state of its recipients. */
export function MessageActions({ message }: { message: Message }) {
  const { api, selection: place } = useApi();
  const queries = useQueryClient();
  const mayWrite = useCan()('write:messages');
  const [rescheduling, setRescheduling] = useState(false);
  const some = (states: readonly string[]) =>
    mayWrite && message.recipients.some(({ status }) => states.includes(status));
  const params = { path: { id: message.id } };
  const changed = async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['message'] }),
      queries.invalidateQueries({ queryKey: ['messages'] }),
    ]);
  };
  const retrying = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/messages/{id}/retry', { params })),
    onSuccess: async () => {
      await changed();
      showToast('It is tried again now.');
    },
    onError: showErrorToast,
  });
  const sending = useMutation({
    mutationFn: () =>
      unwrap(api.PATCH('/api/v1/messages/{id}', { params, body: { scheduled_at: null } })),
    onSuccess: async () => {
      await changed();
      showToast('It leaves now.');
    },
    onError: showErrorToast,
  });
  const cancel = () =>
    requestConfirmation({
      title: 'Cancel this message?',
      body: 'Recipients who have not received it yet never will.',
      confirmLabel: 'Cancel message',
      run: async () => {
        await unwrap(api.POST('/api/v1/messages/{id}/cancel', { params }));
        await changed();
        showToast('The message is cancelled.');
      },
    });
  return (
    <>
      {some(RETRYABLE) && (
        <Button icon={RotateCw} busy={retrying.isPending} onClick={() => retrying.mutate()}>
          Try again now
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
          onSelect={() => void download(place, message.id).catch(showErrorToast)}
        >
          Download as .eml
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
        <Reschedule message={message} onClose={() => setRescheduling(false)} onChanged={changed} />
      )}
    </>
  );
}

async function download(place: Parameters<typeof fetchRaw>[0], id: string): Promise<void> {
  const answer = await fetchRaw(place, `/api/v1/messages/${id}/raw`);
  downloadFile(await answer.blob(), `${id}.eml`);
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
  const [at, setAt] = useState(() => localInput(message.scheduled_at ?? new Date().toISOString()));
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
      showToast('The message has a new time.');
      onClose();
    },
  });
  return (
    <Dialog title="Reschedule" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <Field
          label="When it leaves"
          hint="In your own time zone."
          error={fieldError(changing.error, '/scheduled_at')}
        >
          <TextInput
            type="datetime-local"
            value={at}
            onChange={(event) => setAt(event.target.value)}
            required
          />
        </Field>
        {changing.isError && !hasOnlyFieldErrors(changing.error, ['/scheduled_at']) && (
          <ErrorAlert error={changing.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={changing.isPending}>
            Reschedule
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/** A moment as a date field wants it: local and without a zone. */
function localInput(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
