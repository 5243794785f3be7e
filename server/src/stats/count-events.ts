import type { Mode } from '../accounts/tenant-scope.ts';
import type { EventType } from '../events/event-types.ts';
import { mailboxProvider } from '../mail/policy/mailbox-provider.ts';
import { SYSTEM_TAG } from '../messages/system-tag.ts';
import { type CountBucket, CountBuckets, type Dimension } from './count-buckets.ts';
import { bucketOf } from './latency-histogram.ts';

/**
 * Turns events into counts: a pure function, so that aggregation and a recount of the event log
 * always agree. Everything counts recipients, except `messages` and `content_bytes`. Opens and clicks by machines are
 * counted separately, because they say nothing about people. Mail of the service to its own users is
 * not counted.
 */

/** An event with the relevant fields of its message. */
export interface CountedEvent {
  workspaceId: string;
  mode: Mode;
  type: EventType;
  createdAtMs: number;
  recipient: string | null;
  recipients: readonly string[];
  /** For accepted messages: the size of their content. */
  contentBytes: number;
  tags: readonly string[];
  bounceReason: string | null;
  suppressionReason: string | null;
  /** For bounces: reported after the message was counted as delivered. */
  afterDelivery: boolean;
  mx: string | null;
  machine: boolean;
  /** For clicks: the first link of the message that was followed. */
  first: boolean;
  sender: string | null;
  templateKey: string | null;
  /** That of the message, or the one that its recipient left. */
  stream: string | null;
  /** When the message was due: its acceptance, or its scheduled time. */
  startedAtMs: number | null;
}

export const COUNTERS = [
  'messages',
  'accepted',
  'suppressed',
  'delivered',
  'deferred',
  'bounced',
  'bounced_later',
  'failed',
  'expired',
  'cancelled',
  'complained',
  'unsubscribed',
  'opened',
  'clicked',
  'links_clicked',
  'opened_by_machine',
  'clicked_by_machine',
] as const;
export type Counter = (typeof COUNTERS)[number];

export const BOUNCE_REASON_PREFIX = 'bounced.';
export const SUPPRESSION_REASON_PREFIX = 'suppressed.';
export const LATENCY_PREFIX = 'latency.';

const MINUTE_MS = 60_000;

type LabelFor = (event: CountedEvent, dimension: Dimension, value: string) => string;

/** By minute, in the order of their keys. `labelFor` may count excess values under another label. */
export function countEvents(
  events: readonly CountedEvent[],
  labelFor: LabelFor = (_event, _dimension, value) => value,
): CountBucket[] {
  const minutes = new CountBuckets();
  for (const event of events) {
    if (event.tags.includes(SYSTEM_TAG)) continue;
    const counters = countersOf(event);
    if (counters.length === 0) continue;
    const atMs = event.createdAtMs - (event.createdAtMs % MINUTE_MS);
    countEvent(minutes.of(event.workspaceId, event.mode, atMs), event, counters, labelFor);
  }
  return minutes.all();
}

type Counters = readonly (readonly [counter: string, n: number])[];

const ACCEPTED_RECIPIENT: Counters = [['accepted', 1]];

function countEvent(
  minute: CountBucket,
  event: CountedEvent,
  counters: Counters,
  labelFor: LabelFor,
): void {
  const add = (dimension: Dimension, value: string, counted = counters): void => {
    const sums = minute.sumsOf(dimension, labelFor(event, dimension, value));
    for (const [counter, n] of counted) sums.add(counter, n);
  };
  const { stream, tags, templateKey, sender } = event;
  add('all', '');
  if (stream !== null) add('stream', stream);
  if (tags.length > 0) for (const tag of new Set(tags)) add('tag', tag);
  if (templateKey !== null) add('template', templateKey);
  if (sender !== null) {
    add('domain', sender.slice(sender.lastIndexOf('@') + 1).toLowerCase());
  }
  if (event.type === 'message.accepted') {
    // For the quota of the workspace only, so not by stream, tag and so on.
    if (event.contentBytes > 0) add('all', '', [['content_bytes', event.contentBytes]]);
    // A message has no single receiver, so its recipients are counted by their own.
    for (const recipient of event.recipients) {
      add('receiver', mailboxProvider(recipient, null), ACCEPTED_RECIPIENT);
    }
  } else if (event.recipient !== null) {
    add('receiver', mailboxProvider(event.recipient, event.mx));
  }
}

function countersOf(event: CountedEvent): Counters {
  switch (event.type) {
    case 'message.accepted':
      return [
        ['messages', 1],
        ['accepted', event.recipients.length],
      ];
    case 'message.delivered':
      if (event.startedAtMs === null) return [['delivered', 1]];
      return [
        ['delivered', 1],
        [latencyCounter(event.createdAtMs - event.startedAtMs), 1],
      ];
    case 'message.bounced':
      return [
        ['bounced', 1],
        ...(event.afterDelivery ? [['bounced_later', 1] as const] : []),
        [BOUNCE_REASON_PREFIX + (event.bounceReason ?? 'unknown'), 1],
      ];
    case 'message.opened':
      return [[event.machine ? 'opened_by_machine' : 'opened', 1]];
    case 'message.clicked':
      if (event.machine) return event.first ? [['clicked_by_machine', 1]] : [];
      return event.first ? FIRST_CLICK : FURTHER_CLICK;
    case 'message.suppressed':
      return [
        ['suppressed', 1],
        [SUPPRESSION_REASON_PREFIX + (event.suppressionReason ?? 'unknown'), 1],
      ];
    case 'message.deferred':
    case 'message.failed':
    case 'message.expired':
    case 'message.cancelled':
    case 'message.complained':
    case 'message.unsubscribed':
      return [[event.type.slice('message.'.length), 1]];
    case 'inbound_message.received':
      return [['content_bytes', event.contentBytes]];
    default:
      return [];
  }
}

const FURTHER_CLICK: Counters = [['links_clicked', 1]];
const FIRST_CLICK: Counters = [['clicked', 1], ...FURTHER_CLICK];

/** Built once per bucket. */
const LATENCY_COUNTERS: string[] = [];
function latencyCounter(ms: number): string {
  const bucket = bucketOf(ms);
  LATENCY_COUNTERS[bucket] ??= LATENCY_PREFIX + bucket;
  return LATENCY_COUNTERS[bucket];
}
