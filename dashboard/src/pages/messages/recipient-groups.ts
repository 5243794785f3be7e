import type { Schema } from '../../api/client.ts';

/** Recipients of a message with the same outcome. */
export interface RecipientGroup {
  outcome: Schema<'Recipient'>['status'] | 'complained';
  recipients: [Schema<'Recipient'>, ...Schema<'Recipient'>[]];
  /** The last open by a person. */
  openedAt?: string;
}

type MessageHistory = Pick<Schema<'Message'>, 'recipients' | 'events'>;

/** Outcomes that need attention come first. */
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
  const groups = new Map<string, RecipientGroup>();
  for (const recipient of recipients) {
    const kind =
      recipient.status === 'delivered' && complained.has(recipient.email)
        ? 'complained'
        : recipient.status;
    const name = `${kind} ${recipient.bounce?.reason ?? recipient.reason}`;
    const known = groups.get(name);
    if (known) known.recipients.push(recipient);
    else groups.set(name, { outcome: kind, recipients: [recipient] });
  }
  const all = [...groups.values()].sort(
    (a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome),
  );
  return all.map((group) => withOpenTime(group, events));
}

function withOpenTime(group: RecipientGroup, events: readonly Schema<'Event'>[]): RecipientGroup {
  if (group.outcome !== 'delivered' || group.recipients.length > 1) return group;
  const opened = events.findLast(
    ({ type, data }) => type === 'message.opened' && !(data as { machine?: boolean }).machine,
  );
  return opened ? { ...group, openedAt: opened.created_at } : group;
}

function recipientsOf(events: readonly Schema<'Event'>[], type: string): Set<unknown> {
  return new Set(
    events
      .filter((event) => event.type === type)
      .map(({ data }) => (data as { recipient?: string }).recipient),
  );
}
