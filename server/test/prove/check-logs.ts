import type {
  ClientEntry,
  FailureEntry,
  FeedEntry,
  Mode,
  ReceiverEntry,
  StatisticsEntry,
} from './log-files.ts';

/**
 * Decides from the logs alone whether the guarantees held. It shares no code with the server and
 * knows nothing about the run but these entries: what clients were answered and what the receiver got
 * come from their own logs. The event feed is used for outcomes that leave no trace there: bounces,
 * test mode, and whether a send without a response was stored.
 */

export interface Logs {
  clients: readonly ClientEntry[];
  receiver: readonly ReceiverEntry[];
  failures: readonly FailureEntry[];
  feed: readonly FeedEntry[];
  statistics: readonly StatisticsEntry[];
}

export interface Violation {
  rule: Rule;
  /** The recipient, send or event that it is about. */
  subject: string;
  detail: string;
}

export type Rule =
  | 'lost'
  | 'stored_twice'
  | 'wrong_outcome'
  | 'different_copies'
  | 'unexplained_duplicate'
  | 'arrived_after_outcome'
  | 'never_sent'
  | 'unexpected_response'
  | 'failed_request'
  | 'feed_gap'
  | 'feed_repeat'
  | 'wrong_time'
  | 'wrong_statistics';

export interface Findings {
  violations: Violation[];
  counts: {
    sends: number;
    requests: number;
    /** Sends that were answered with 202. */
    accepted: number;
    /** Sends that were never answered with 202, and of these those that exist nevertheless. */
    unanswered: number;
    unansweredStored: number;
    recipientsAccepted: number;
    /** Live recipients for whom the receiver read a final dot. */
    arrived: number;
    bounced: number;
    testDelivered: number;
    lost: number;
    events: number;
  };
  /** Requests by status; without one, by `no response`. */
  responses: Record<string, number>;
  duplicates: Duplicate[];
  failures: Record<string, FailureSummary>;
  /** From the 202 to the first final dot, without recipients that the receiver deferred. */
  delayMs: { p50: number; p99: number; max: number };
}

/** A message that the receiver got once more. */
export interface Duplicate {
  to: string;
  /** The kind of the failure between the two copies; `none` is a violation. */
  cause: string;
  /** From the first copy to the failure; 0 if the failure had begun. */
  beforeFailureMs: number;
  betweenMs: number;
}

export interface FailureSummary {
  count: number;
  duplicates: number;
  /** The longest time between two 202 responses during a failure of this kind. */
  longestGapMs: number;
}

const EXPECTED_STATUSES = new Set([202, 409, 503]);
export const FINAL_EVENT = /^message\.(delivered|bounced|failed|expired|suppressed|cancelled)$/;
/** A process that was suspended after its last check may still complete an attempt when it continues. */
const SUSPENDING = 'node-freeze';
/** Replaces a server while others serve: clients must not notice. */
export const UPGRADE = 'upgrade';
/**
 * Nodes use the clock of their database, so a wrong one of their own must not cause a duplicate. One
 * that receives SIGTERM completes what it has begun.
 */
const NO_EXCUSE: readonly string[] = ['clock-jump', UPGRADE];
/** More than the clocks of a machine may differ, and less than a jump. */
const CLOCK_TOLERANCE_MS = 5_000;

export function checkLogs(logs: Logs): Findings {
  const sends = sendsOf(logs.clients);
  const failures = failuresOf(logs.failures);
  const feed = feedOf(logs.feed);
  const receiver = receiverOf(logs.receiver);
  const found: Violation[] = [];
  const duplicates: Duplicate[] = [];
  const known = new Set<string>();
  for (const send of sends.values()) {
    for (const to of send.recipients) {
      known.add(to);
      const one = { to, send, arrivals: receiver.arrivals.get(to) ?? [] };
      found.push(...recipientErrors(one, feed, receiver.rejected));
      for (const { duplicate, error } of duplicatesOf(one, feed, failures)) {
        duplicates.push(duplicate);
        if (error) found.push(error);
      }
    }
  }
  const violations = [
    ...found,
    ...responseErrors(logs.clients),
    ...(failures.some(({ kind }) => kind === UPGRADE) ? requestErrors(logs.clients) : []),
    ...feedErrors(logs.feed),
    ...timeErrors(logs),
    ...statisticsErrors(logs),
    ...[...receiver.arrivals.keys()]
      .filter((to) => !known.has(to))
      .map((to) => violation('never_sent', to, 'arrived, and no client sent it')),
  ];
  return {
    violations,
    counts: countsOf(logs, sends, feed, receiver, violations),
    responses: responsesOf(logs.clients),
    duplicates,
    failures: summariesOf(failures, duplicates, logs.clients),
    delayMs: delaysOf(sends, receiver),
  };
}

function violation(rule: Rule, subject: string, detail: string): Violation {
  return { rule, subject, detail };
}

interface Send {
  name: string;
  mode: Mode;
  recipients: string[];
  acceptedAt: number | undefined;
  /** Message IDs in its 202 responses. */
  ids: Set<string>;
}

function sendsOf(entries: readonly ClientEntry[]): Map<string, Send> {
  const sends = new Map<string, Send>();
  for (const entry of entries) {
    if (entry.event === 'request' && !sends.has(entry.send)) {
      const { send: name, mode, recipients } = entry;
      sends.set(name, { name, mode, recipients, acceptedAt: undefined, ids: new Set() });
    }
    if (entry.event !== 'response' || entry.status !== 202) continue;
    const send = sends.get(entry.send);
    if (!send) throw new Error(`The client log has a response without a request: ${entry.send}`);
    send.acceptedAt ??= entry.at;
    send.ids.add(entry.id ?? '');
  }
  return sends;
}

interface Failure {
  kind: string;
  from: number;
  to: number;
}

function failuresOf(entries: readonly FailureEntry[]): Failure[] {
  const failures = new Map<number, Failure>();
  for (const { number, event, kind, at } of entries) {
    const failure = failures.get(number) ?? { kind, from: at, to: Number.POSITIVE_INFINITY };
    failures.set(number, failure);
    if (event === 'end') failure.to = at;
  }
  return [...failures.values()];
}

interface Feed {
  /** IDs of the messages that name a recipient when they are accepted. */
  stored: Map<string, Set<string>>;
  /** Final outcomes by recipient, with the time at which a reader saw them. */
  outcomes: Map<string, { type: string; seenAt: number }[]>;
}

function feedOf(entries: readonly FeedEntry[]): Feed {
  const feed: Feed = { stored: new Map(), outcomes: new Map() };
  const seenAt = new Map<string, number>();
  for (const { pass, id, at } of entries) if (pass === 'live') seenAt.set(id, at);
  for (const { pass, id, at, type, messageId, recipients } of entries) {
    if (pass !== 'final') continue;
    for (const to of recipients) {
      if (type === 'message.accepted') add(feed.stored, to, messageId);
      if (!FINAL_EVENT.test(type)) continue;
      const outcomes = feed.outcomes.get(to) ?? [];
      feed.outcomes.set(to, [...outcomes, { type, seenAt: seenAt.get(id) ?? at }]);
    }
  }
  return feed;
}

function add(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(value));
}

interface Arrival {
  at: number;
  messageId: string;
  sha256: string;
}

interface Receiver {
  arrivals: Map<string, Arrival[]>;
  /** Recipients that were rejected for good. */
  rejected: Set<string>;
  deferred: Set<string>;
}

function receiverOf(entries: readonly ReceiverEntry[]): Receiver {
  const receiver: Receiver = { arrivals: new Map(), rejected: new Set(), deferred: new Set() };
  for (const entry of entries) {
    if (entry.event === 'arrival') {
      const arrivals = receiver.arrivals.get(entry.to);
      if (arrivals) arrivals.push(entry);
      else receiver.arrivals.set(entry.to, [entry]);
    } else (entry.reply.startsWith('5') ? receiver.rejected : receiver.deferred).add(entry.to);
  }
  return receiver;
}

interface Recipient {
  to: string;
  send: Send;
  arrivals: readonly Arrival[];
}

/** A send without a response may exist or not; what exists is stored once and ends once. */
function recipientErrors(
  { to, send, arrivals }: Recipient,
  feed: Feed,
  rejected: ReadonlySet<string>,
): Violation[] {
  const stored = feed.stored.get(to)?.size ?? 0;
  const outcomes = (feed.outcomes.get(to) ?? []).map(({ type }) => type);
  const accepted = send.acceptedAt !== undefined;
  if (stored === 0) {
    if (accepted) return [violation('lost', to, `answered with 202 and not stored (${send.name})`)];
    return arrivals.length > 0
      ? [violation('wrong_outcome', to, 'arrived, but the event feed does not contain it')]
      : [];
  }
  const errors: Violation[] = [];
  if (stored > 1 || send.ids.size > 1) {
    errors.push(violation('stored_twice', to, `${stored} messages for one send (${send.name})`));
  }
  if (outcomes.length === 0) {
    errors.push(violation('lost', to, `stored, without an outcome (${send.name})`));
  }
  const expected = rejected.has(to) ? 'message.bounced' : 'message.delivered';
  if (outcomes.length > 1 || (outcomes[0] ?? expected) !== expected) {
    errors.push(violation('wrong_outcome', to, `ended as ${outcomes.join(', ')}`));
  }
  if (send.mode === 'live' && outcomes.includes('message.delivered') && arrivals.length === 0) {
    errors.push(violation('lost', to, 'reported as delivered, and never arrived'));
  }
  if (send.mode === 'test' && arrivals.length > 0) {
    errors.push(violation('wrong_outcome', to, 'sent in test mode, and arrived'));
  }
  return errors;
}

function duplicatesOf(
  { to, arrivals }: Recipient,
  feed: Feed,
  failures: readonly Failure[],
): { duplicate: Duplicate; error: Violation | undefined }[] {
  const seenAt = feed.outcomes.get(to)?.[0]?.seenAt ?? Number.POSITIVE_INFINITY;
  return arrivals.slice(1).map((later, n) => {
    const earlier = arrivals[n] as Arrival;
    const between = failures.filter(
      ({ kind, from, to: end }) =>
        !NO_EXCUSE.includes(kind) && end >= earlier.at && from <= later.at,
    );
    const [first] = between;
    const duplicate: Duplicate = {
      to,
      cause: first?.kind ?? 'none',
      beforeFailureMs: first ? Math.max(0, first.from - earlier.at) : 0,
      betweenMs: later.at - earlier.at,
    };
    const copies = `${earlier.messageId} ${earlier.sha256} and ${later.messageId} ${later.sha256}`;
    if (earlier.messageId !== later.messageId || earlier.sha256 !== later.sha256) {
      return { duplicate, error: violation('different_copies', to, copies) };
    }
    if (!first) {
      const detail = `arrived twice within ${duplicate.betweenMs} ms without a failure`;
      return { duplicate, error: violation('unexplained_duplicate', to, detail) };
    }
    // A recorded outcome ends a delivery: only a process that was suspended before it may be late.
    if (later.at > seenAt && !between.some(({ kind }) => kind === SUSPENDING)) {
      const detail = `arrived again ${later.at - seenAt} ms after its outcome was read`;
      return { duplicate, error: violation('arrived_after_outcome', to, detail) };
    }
    return { duplicate, error: undefined };
  });
}

function responseErrors(entries: readonly ClientEntry[]): Violation[] {
  return entries.flatMap((entry) =>
    entry.event === 'response' && !EXPECTED_STATUSES.has(entry.status)
      ? [violation('unexpected_response', entry.send, `status ${entry.status}`)]
      : [],
  );
}

/** Behind a load balancer every request of an upgrade is answered with 202 at the first try. */
function requestErrors(entries: readonly ClientEntry[]): Violation[] {
  return entries.flatMap((entry) => {
    if (entry.event === 'no_response')
      return [violation('failed_request', entry.send, entry.error)];
    if (entry.event === 'request' || entry.status === 202) return [];
    return [violation('failed_request', entry.send, `status ${entry.status}`)];
  });
}

/** A reader that follows the feed with its cursor sees what a later reader sees, each event once. */
function feedErrors(entries: readonly FeedEntry[]): Violation[] {
  const errors: Violation[] = [];
  const seen = { live: new Map<string, FeedEntry>(), final: new Map<string, FeedEntry>() };
  for (const entry of entries) {
    const { pass, id, type } = entry;
    if (seen[pass].has(id)) errors.push(violation('feed_repeat', id, `${type}, ${pass} reader`));
    seen[pass].set(id, entry);
  }
  const [live, final] = [[...seen.live.values()], [...seen.final.values()]];
  const gaps = (missing: readonly FeedEntry[], detail: string): Violation[] =>
    missing.map(({ id, type }) => violation('feed_gap', id, `${type} ${detail}`));
  const missed = final.filter(({ id }) => !seen.live.has(id));
  // Events that the follower read later may be newer than the second reading.
  const secondReadingAt = final[0]?.at ?? 0;
  const gone = live.filter(({ id, at }) => at < secondReadingAt && !seen.final.has(id));
  return [
    ...errors,
    ...gaps(missed, 'was missed by the reader that followed the feed'),
    ...gaps(gone, 'was read during the run and is gone'),
  ];
}

/** Nothing happens to a message before the first request, or after a reader has seen it. */
function timeErrors({ clients, feed }: Logs): Violation[] {
  // A single server has a clock of its own.
  const nodes = new Set(clients.map((entry) => (entry.event === 'request' ? entry.node : 0)));
  const startedAt = clients[0]?.at ?? 0;
  if (nodes.size < 2) return [];
  return feed.flatMap(({ pass, id, type, at, messageId, createdAt }) => {
    const wrongByMs = Math.max(startedAt - createdAt, createdAt - at);
    if (pass === 'final' || messageId === '' || wrongByMs <= CLOCK_TOLERANCE_MS) return [];
    return [violation('wrong_time', id, `${type} has a time that is wrong by ${wrongByMs} ms`)];
  });
}

function statisticsErrors({ feed, statistics }: Logs): Violation[] {
  return statistics.flatMap(({ mode, counts }) => {
    const ofMode = feed.filter((entry) => entry.pass === 'final' && entry.mode === mode);
    const recipients = (type: string) =>
      ofMode.reduce((sum, entry) => sum + (entry.type === type ? entry.recipients.length : 0), 0);
    const expected = {
      messages: ofMode.filter(({ type }) => type === 'message.accepted').length,
      accepted: recipients('message.accepted'),
      delivered: recipients('message.delivered'),
      bounced: recipients('message.bounced'),
    };
    const [found, right] = [JSON.stringify(counts), JSON.stringify(expected)];
    if (found === right) return [];
    return [violation('wrong_statistics', mode, `${found}, and the event feed has ${right}`)];
  });
}

function countsOf(
  { clients, feed: feedEntries }: Logs,
  sends: ReadonlyMap<string, Send>,
  feed: Feed,
  receiver: Receiver,
  violations: readonly Violation[],
): Findings['counts'] {
  const all = [...sends.values()];
  const accepted = all.filter(({ acceptedAt }) => acceptedAt !== undefined);
  const unanswered = all.filter(({ acceptedAt }) => acceptedAt === undefined);
  const outcomeOf = (to: string) => feed.outcomes.get(to)?.[0]?.type;
  const recipients = (mode: Mode) =>
    all.filter((send) => send.mode === mode).flatMap((send) => send.recipients);
  return {
    sends: all.length,
    requests: clients.filter(({ event }) => event === 'request').length,
    accepted: accepted.length,
    unanswered: unanswered.length,
    unansweredStored: unanswered.filter((send) => send.recipients.some((to) => feed.stored.has(to)))
      .length,
    recipientsAccepted: accepted.reduce((sum, send) => sum + send.recipients.length, 0),
    arrived: receiver.arrivals.size,
    bounced: recipients('live').filter((to) => outcomeOf(to) === 'message.bounced').length,
    testDelivered: recipients('test').filter((to) => outcomeOf(to) === 'message.delivered').length,
    lost: violations.filter(({ rule }) => rule === 'lost').length,
    events: feedEntries.filter(({ pass }) => pass === 'final').length,
  };
}

function responsesOf(entries: readonly ClientEntry[]): Record<string, number> {
  const responses: Record<string, number> = {};
  for (const entry of entries) {
    if (entry.event === 'request') continue;
    const name = entry.event === 'response' ? String(entry.status) : 'no response';
    responses[name] = (responses[name] ?? 0) + 1;
  }
  return responses;
}

function summariesOf(
  failures: readonly Failure[],
  duplicates: readonly Duplicate[],
  entries: readonly ClientEntry[],
): Record<string, FailureSummary> {
  const acceptedAt = entries
    .flatMap((entry) => (entry.event === 'response' && entry.status === 202 ? [entry.at] : []))
    .sort((a, b) => a - b);
  const summaries: Record<string, FailureSummary> = {};
  for (const { kind, from, to } of failures) {
    summaries[kind] ??= { count: 0, duplicates: 0, longestGapMs: 0 };
    const summary = summaries[kind];
    summary.count += 1;
    summary.longestGapMs = Math.max(summary.longestGapMs, longestGap(acceptedAt, from, to));
  }
  for (const { cause } of duplicates) {
    const summary = summaries[cause];
    if (summary) summary.duplicates += 1;
  }
  return summaries;
}

/** Of the gaps that overlap the time from `from` to `to`. */
function longestGap(sorted: readonly number[], from: number, to: number): number {
  let longest = 0;
  for (let n = Math.max(1, firstAfter(sorted, from)); n < sorted.length; n++) {
    const before = sorted[n - 1] as number;
    if (before > to) break;
    longest = Math.max(longest, (sorted[n] as number) - before);
  }
  return longest;
}

function firstAfter(sorted: readonly number[], time: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function delaysOf(sends: ReadonlyMap<string, Send>, receiver: Receiver): Findings['delayMs'] {
  const delays: number[] = [];
  for (const { acceptedAt, recipients } of sends.values()) {
    if (acceptedAt === undefined) continue;
    for (const to of recipients) {
      const first = receiver.arrivals.get(to)?.[0];
      // A message may arrive before its 202, if that was lost and the request repeated.
      if (first && !receiver.deferred.has(to)) delays.push(Math.max(0, first.at - acceptedAt));
    }
  }
  delays.sort((a, b) => a - b);
  const at = (share: number) => delays[Math.floor((delays.length - 1) * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
