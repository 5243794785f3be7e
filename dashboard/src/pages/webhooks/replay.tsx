import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { RadioCards, Field, TextInput } from '../../components/field.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { formatCount, formatNumber } from '../../lib/format.ts';
import { localTime } from '../../components/time.tsx';
import type { Webhook } from './endpoint-status.tsx';
import { useWebhookChanged } from './webhook-dialogs.tsx';

/** Sending again: one delivery, all that failed, or every event of a time range. */

type ReplayBody = Schema<'ReplayWebhook'>;
/** A default of the API counts as required in the types made of it. */
type Replay = Partial<ReplayBody>;

const KEEPS_ID =
  'Each keeps the id of its event, so a receiver that drops repeats by webhook-id is not told twice.';

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
      <form
        onSubmit={(event) => {
          event.preventDefault();
          replaying.mutate({ delivery_id: delivery.id });
        }}
      >
        <p className="text-sm text-soft">
          <b className="font-medium text-ink">{delivery.event_type}</b> goes to{' '}
          <b className="font-medium break-all text-ink">{webhook.url}</b> once more, now. It keeps
          its id.
        </p>
        {replaying.isError && <ErrorAlert error={replaying.error} className="mt-4" />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={replaying.isPending} data-first-focus>
            Send again
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

export function ReplayMany({
  webhook,
  since,
  onClose,
}: {
  webhook: Webhook;
  /** It was off from then on: what it missed is suggested. */
  since?: string;
  onClose: () => void;
}) {
  const [which, setWhich] = useState<'failed' | 'range'>(since === undefined ? 'failed' : 'range');
  const [from, setFrom] = useState(() => localTime(since ?? dayAgo()));
  const [to, setTo] = useState('');
  const [queued, setQueued] = useState(0);
  const replaying = useReplay(webhook, onClose, setQueued);
  return (
    <Dialog
      title={since === undefined ? 'Replay events' : 'Send what it missed?'}
      description={
        since === undefined ? undefined : 'It is on again. Events from while it was off can follow.'
      }
      onClose={onClose}
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          replaying.mutate(
            which === 'failed'
              ? { only_failed: true }
              : {
                  from: new Date(from).toISOString(),
                  ...(to === '' ? {} : { to: new Date(to).toISOString() }),
                },
          );
        }}
      >
        <RadioCards
          legend="What is sent again"
          hideLegend
          value={which}
          onChange={setWhich}
          options={[
            {
              value: 'failed',
              label: 'All that failed',
              hint: 'Deliveries of the last 30 days that were given up.',
            },
            {
              value: 'range',
              label: 'Every event of a time range',
              hint: 'Also what was received before, and what was missed while it was off.',
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
            <Field label="To" hint="Empty: until now.">
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
        {replaying.isError && <ErrorAlert error={replaying.error} />}
        {replaying.isPending && queued > 0 && (
          <p className="text-sm text-soft" role="status">
            {formatNumber(queued)} queued so far
          </p>
        )}
        <DialogButtons>
          <Button onClick={onClose}>{since === undefined ? 'Cancel' : 'Not now'}</Button>
          <Button type="submit" kind="primary" busy={replaying.isPending}>
            {which === 'failed' ? 'Replay all that failed' : 'Replay the range'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/** A long range is queued in several requests. */
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
      showToast(sum === 0 ? 'There was nothing to send again.' : `${formatCount(sum, 'event')} queued again.`);
      onDone();
    },
  });
}

const DAY_MS = 24 * 60 * 60 * 1000;

function dayAgo(): string {
  return new Date(Date.now() - DAY_MS).toISOString();
}
