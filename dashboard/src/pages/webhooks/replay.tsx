import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, RadioCards, TextInput } from '../../components/field.tsx';
import { localTime } from '../../components/time.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { formatCount, formatNumber } from '../../lib/format.ts';
import type { Webhook } from './endpoint-status.tsx';
import { useWebhookChanged } from './webhook-dialogs.tsx';

/** Replays one delivery, all failed deliveries, or all events of a time range. */

type ReplayBody = Schema<'ReplayWebhook'>;
/** The generated types treat fields with a default as required. */
type Replay = Partial<ReplayBody>;

const KEEPS_ID =
  'Replayed events keep their ID, so endpoints that deduplicate by webhook-id ignore repeats.';

export function ReplayOne({
  webhook,
  delivery,
  onClose,
}: {
  webhook: Webhook;
  delivery: Schema<'WebhookDelivery'>;
  onClose: () => void;
}) {
  const replaying = useReplay(webhook, onClose);
  return (
    <Dialog title="Send this event again?" onClose={onClose}>
      <DialogForm
        saving={{ ...replaying, mutate: () => replaying.mutate({ delivery_id: delivery.id }) }}
        submitLabel="Send again"
        focusSubmit
        onClose={onClose}
      >
        <p className="text-sm text-soft">
          Sends <b className="font-medium text-ink">{delivery.event_type}</b> to{' '}
          <b className="font-medium break-all text-ink">{webhook.url}</b> again with the same event
          ID.
        </p>
      </DialogForm>
    </Dialog>
  );
}

export function ReplayMany({
  webhook,
  since,
  onClose,
}: {
  webhook: Webhook;
  /** When the endpoint was disabled; events since then are suggested. */
  since?: string;
  onClose: () => void;
}) {
  const [which, setWhich] = useState<'failed' | 'range'>(since === undefined ? 'failed' : 'range');
  const [from, setFrom] = useState(() => localTime(since ?? dayAgo()));
  const [to, setTo] = useState('');
  const [queued, setQueued] = useState(0);
  const replaying = useReplay(webhook, onClose, setQueued);
  const replay = () =>
    replaying.mutate(
      which === 'failed'
        ? { only_failed: true }
        : {
            from: new Date(from).toISOString(),
            ...(to === '' ? {} : { to: new Date(to).toISOString() }),
          },
    );
  return (
    <Dialog
      title={since === undefined ? 'Replay events' : 'Replay missed events?'}
      description={
        since === undefined
          ? undefined
          : 'The endpoint is enabled again. You can replay the events it missed.'
      }
      onClose={onClose}
    >
      <DialogForm
        saving={{ ...replaying, mutate: replay }}
        submitLabel={which === 'failed' ? 'Replay failed' : 'Replay range'}
        cancelLabel={since === undefined ? 'Cancel' : 'Not now'}
        onClose={onClose}
      >
        <RadioCards
          legend="Events to replay"
          hideLegend
          value={which}
          onChange={setWhich}
          options={[
            {
              value: 'failed',
              label: 'All failed deliveries',
              hint: 'Failed deliveries of the last 30 days.',
            },
            {
              value: 'range',
              label: 'Events in a time range',
              hint: 'Including events already delivered and those missed while disabled.',
            },
          ]}
        />
        {which === 'range' && (
          <div className="grid gap-3 sm:grid-cols-2">
            <Field label="From">
              <TextInput
                type="datetime-local"
                required
                value={from}
                onChange={(event) => setFrom(event.target.value)}
              />
            </Field>
            <Field label="To" hint="Leave empty for the current time.">
              <TextInput
                type="datetime-local"
                value={to}
                min={from}
                onChange={(event) => setTo(event.target.value)}
              />
            </Field>
          </div>
        )}
        <p className="text-xs text-faint">{KEEPS_ID}</p>
        {replaying.isPending && queued > 0 && (
          <p className="text-sm text-soft" role="status">
            {formatNumber(queued)} queued so far
          </p>
        )}
      </DialogForm>
    </Dialog>
  );
}

/** A long range takes several requests. */
function useReplay(webhook: Webhook, onDone: () => void, onQueued?: (sum: number) => void) {
  const { api } = useApi();
  const changed = useWebhookChanged();
  return useMutation({
    mutationFn: async (body: Replay) => {
      let sum = 0;
      let from: string | null | undefined;
      do {
        const { replayed, next_from } = await unwrap(
          api.POST('/api/v1/webhooks/{id}/replay', {
            params: { path: { id: webhook.id } },
            body: (from ? { ...body, from } : body) as ReplayBody,
          }),
        );
        sum += replayed;
        from = next_from;
        onQueued?.(sum);
      } while (from !== null);
      return sum;
    },
    onSuccess: async (sum) => {
      await changed();
      showToast(
        sum === 0 ? 'No events to replay.' : `${formatCount(sum, 'event')} queued for replay.`,
      );
      onDone();
    },
  });
}

const DAY_MS = 24 * 60 * 60 * 1000;

function dayAgo(): string {
  return new Date(Date.now() - DAY_MS).toISOString();
}
