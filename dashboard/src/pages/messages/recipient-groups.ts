import type { Schema } from '../../api/client.ts';

/** Recipients of a message to whom the same has happened. */
export interface RecipientGroup {
  outcome: Schema<'Recipient'>['status'] | 'complained';
  recipients: [Schema<'Recipient'>, ...Schema<'Recipient'>[]];
  /** By a person, the last time. */
  openedAt?: string;
}

type MessageHistory = Pick<Schema<'Message'>, 'recipients' | 'events'>;

/** What needs somebody comes first. */
const ORDER: RecipientGroup['outcome'][] = [
  'bounced',
  'failed',
  'expired',
  'complained',
  'suppressed',
  'deferred',
  'queued',
  'scheduled',
  'cancelled',
  'delivered',
];

export function groupRecipients({ recipients, events }: MessageHistory): RecipientGroup[] {
  const complained = recipientsOf(events, 'message.complained');
  const fates = new Map<string, RecipientGroup>();
  for (const recipient of recipients) {
    const kind =
      recipient.status === 'delivered' && complained.has(recipient.email)
        ? 'complained'
        : recipient.status;
    const name = `${kind} ${recipient.bounce?.reason ?? recipient.reason}`;
    const known = fates.get(name);
    if (known) known.recipients.push(recipient);
    else fates.set(name, { outcome: kind, recipients: [recipient] });
  }
  const all = [...fates.values()].sort((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome));
  return all.map((fate) => withOpenTime(fate, events));
}

function withOpenTime(fate: RecipientGroup, events: readonly Schema<'Event'>[]): RecipientGroup {
  if (fate.outcome !== 'delivered' || fate.recipients.length > 1) return fate;
  const opened = events.findLast(
    ({ type, data }) => type === 'message.opened' && !(data as { machine?: boolean }).machine,
  );
  return opened ? { ...fate, openedAt: opened.created_at } : fate;
}

function recipientsOf(events: readonly Schema<'Event'>[], type: string): Set<unknown> {
  return new Set(
    events
      .filter((event) => event.type === type)
      .map(({ data }) => (data as { recipient?: string }).recipient),
  );
}

const UNITS: [string, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** In the largest unit that it is a whole number of: 72 hours are three days, 90 minutes stay. */
export function formatWholeDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? ['second', 1_000];
  const count = Math.max(1, Math.round(ms / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
