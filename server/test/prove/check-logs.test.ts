import { expect, test } from 'vitest';
import { checkLogs, type Logs } from './check-logs.ts';
import type {
  ClientEntry,
  FailureEntry,
  FeedEntry,
  Mode,
  ReceiverEntry,
  StatisticsEntry,
} from './log-files.ts';
import { reportOf, summaryOf, toMarkdown } from './report.ts';

interface SendOptions {
  mode?: Mode;
  status?: number;
  at?: number;
  id?: string;
  node?: number;
}

/** A log of one send that went well; each test changes what it is about. */
class Story {
  clients: ClientEntry[] = [];
  receiver: ReceiverEntry[] = [];
  failures: FailureEntry[] = [];
  feed: FeedEntry[] = [];
  statistics: StatisticsEntry[] = [];
  #events = 0;

  send(name: string, options: SendOptions = {}) {
    const { mode = 'live', status = 202, at = 0, id = `msg_${name}`, node = 0 } = options;
    const isRepeat = this.clients.some(({ send }) => send === name);
    const about = { send: name, try: isRepeat ? 2 : 1 };
    const request = { ...about, at, node, mode, recipients: [name], idempotent: true };
    this.clients.push({ ...request, event: 'request' });
    this.clients.push(
      status === 0
        ? { ...about, at: at + 1, event: 'no_response', error: 'closed' }
        : { ...about, at: at + 1, event: 'response', status, ...(status === 202 ? { id } : {}) },
    );
    return this;
  }

  event(type: string, to: string, at: number, passes: FeedEntry['pass'][] = ['live', 'final']) {
    const id = `evt_${++this.#events}`;
    const about = { id, type, messageId: `msg_${to}`, recipients: [to], createdAt: at };
    for (const pass of passes) {
      // The second reading is after the run.
      const readAt = pass === 'final' ? 1_000 + at : at;
      this.feed.push({ ...about, at: readAt, pass, mode: 'live' });
    }
    return this;
  }

  arrival(to: string, at: number, copy: Partial<{ messageId: string; sha256: string }> = {}) {
    const same = { messageId: `<${to}>`, sha256: 'aa' };
    this.receiver.push({ at, event: 'arrival', to, ...same, ...copy });
    return this;
  }

  failure(kind: string, from: number, to: number) {
    const about = { number: this.failures.length + 1, kind, detail: '' };
    this.failures.push({ ...about, at: from, event: 'begin' }, { ...about, at: to, event: 'end' });
    return this;
  }

  delivered(to: string) {
    return this.event('message.accepted', to, 2).arrival(to, 5).event('message.delivered', to, 9);
  }

  get rules(): string[] {
    return checkLogs(this as Logs).violations.map(({ rule, subject }) => `${rule} ${subject}`);
  }
}

const story = () => new Story();

test('a delivered, a bounced, a test and an unanswered send break no rule', () => {
  const run = story()
    .send('a')
    .delivered('a')
    .send('no')
    .event('message.accepted', 'no', 2)
    .event('message.bounced', 'no', 9)
    .send('test', { mode: 'test' })
    .event('message.accepted', 'test', 2)
    .event('message.delivered', 'test', 3)
    .send('gone', { status: 0 })
    .send('kept', { status: 0 })
    .delivered('kept')
    .send('busy', { status: 503 });
  run.receiver.push({ at: 4, event: 'rejection', to: 'no', reply: '550 5.1.1 No such user' });
  const findings = checkLogs(run);
  expect(findings.violations).toEqual([]);
  expect(findings.counts).toMatchObject({
    sends: 6,
    accepted: 3,
    unanswered: 3,
    unansweredStored: 1,
    arrived: 2,
    bounced: 1,
    testDelivered: 1,
    lost: 0,
  });
  expect(findings.responses).toEqual({ 202: 3, 503: 1, 'no response': 2 });
});

test('an accepted message that is not stored, has no outcome or never arrives is lost', () => {
  expect(story().send('a').rules).toEqual(['lost a']);
  expect(story().send('a').event('message.accepted', 'a', 2).rules).toEqual(['lost a']);
  const unseen = story().send('a').event('message.accepted', 'a', 2);
  expect(unseen.event('message.delivered', 'a', 9).rules).toEqual(['lost a']);
});

test('a repeated request must not create a second message', () => {
  const run = story().send('a', { status: 0 }).send('a', { at: 3 }).delivered('a');
  expect(run.rules).toEqual([]);
  run.send('a', { at: 6, id: 'msg_other' });
  expect(run.rules).toEqual(['stored_twice a']);
});

test('an outcome other than that of the receiver is an error', () => {
  const failed = story().send('a').event('message.accepted', 'a', 2);
  expect(failed.event('message.failed', 'a', 9).rules).toEqual(['wrong_outcome a']);
  expect(story().send('a').delivered('a').event('message.bounced', 'a', 12).rules).toEqual([
    'wrong_outcome a',
  ]);
});

test('a message that was sent in test mode must not arrive', () => {
  expect(story().send('a', { mode: 'test' }).delivered('a').rules).toEqual(['wrong_outcome a']);
});

test('a duplicate needs a failure between its copies, and the same bytes', () => {
  const twice = () => story().send('a').arrival('a', 3).delivered('a');
  expect(twice().rules).toEqual(['unexplained_duplicate a']);
  expect(twice().failure('node-kill', 20, 30).rules).toEqual(['unexplained_duplicate a']);
  const excused = twice().failure('node-kill', 4, 30);
  expect(excused.rules).toEqual([]);
  expect(checkLogs(excused).duplicates).toEqual([
    { to: 'a', cause: 'node-kill', beforeFailureMs: 1, betweenMs: 2 },
  ]);
  expect(checkLogs(excused).failures['node-kill']).toMatchObject({ count: 1, duplicates: 1 });
  const changed = story().send('a').arrival('a', 3, { sha256: 'bb' }).delivered('a');
  expect(changed.failure('node-kill', 4, 30).rules).toEqual(['different_copies a']);
});

test('after an outcome was read, only a suspended process may complete an attempt', () => {
  const late = (kind: string) =>
    story().send('a').delivered('a').arrival('a', 20).failure(kind, 4, 30).rules;
  expect(late('node-kill')).toEqual(['arrived_after_outcome a']);
  expect(late('node-freeze')).toEqual([]);
});

test('events that a reader missed, that disappeared or that came twice are errors', () => {
  const run = story().send('a').delivered('a');
  run.event('message.deferred', 'a', 6, ['final']).event('message.deferred', 'a', 7, ['live']);
  run.event('message.deferred', 'a', 8, ['live', 'live', 'final']);
  expect(run.rules).toEqual(['feed_repeat evt_5', 'feed_gap evt_3', 'feed_gap evt_4']);
});

test('a wrong clock of a node explains no duplicate, and shows in no event', () => {
  const twice = story().send('a').arrival('a', 3).delivered('a').failure('clock-jump', 1, 30);
  expect(twice.rules).toEqual(['unexplained_duplicate a']);
  for (const createdAt of [60_000, -60_000]) {
    const run = story().send('a').delivered('a');
    (run.feed[0] as FeedEntry).createdAt = createdAt;
    expect(run.rules).toEqual([]);
    run.send('b', { status: 503, node: 1 });
    expect(run.rules).toEqual(['wrong_time evt_1']);
  }
});

test('an upgrade explains no duplicate and no failed request', () => {
  const run = story().send('a').delivered('a').failure('upgrade', 1, 30);
  expect(run.rules).toEqual([]);
  expect(summaryOf(checkLogs(run))).toMatch(/^1 servers upgraded, 1 recipients accepted/);
  run.send('b', { status: 503 }).send('c', { status: 0 });
  expect(run.rules).toEqual(['failed_request b', 'failed_request c']);
  const twice = story().send('a').arrival('a', 3).delivered('a').failure('upgrade', 1, 30);
  expect(twice.rules).toEqual(['unexplained_duplicate a']);
});

test('statistics equal what the event feed has', () => {
  const run = story().send('a').delivered('a');
  const counts = { messages: 1, accepted: 1, delivered: 1, bounced: 0 };
  run.statistics.push({ at: 2_000, mode: 'live', counts });
  expect(run.rules).toEqual([]);
  counts.delivered = 2;
  expect(run.rules).toEqual(['wrong_statistics live']);
});

test('other responses and messages that no client sent are errors', () => {
  expect(story().send('a', { status: 500 }).arrival('b', 3).rules).toEqual([
    'unexpected_response a',
    'never_sent b',
  ]);
});

test('the longest time without a 202 belongs to the failure that it overlaps', () => {
  const run = story();
  for (const at of [0, 100, 900, 1_000]) {
    const name = `at${at}`;
    run.send(name, { at }).delivered(name);
  }
  run.failure('node-kill', 90, 95).failure('postmaster-kill', 200, 880);
  const { failures } = checkLogs(run);
  expect(failures['node-kill']?.longestGapMs).toBe(100);
  expect(failures['postmaster-kill']?.longestGapMs).toBe(800);
});

test('the report names seed, machine, counts, causes and violations', () => {
  const run = story().send('a').arrival('a', 3).delivered('a').send('b');
  run.failure('node-kill', 4, 30);
  const report = reportOf(
    {
      seed: 42,
      setup: 'nodes',
      nodes: 3,
      postgres: 'one PostgreSQL',
      clients: 8,
      startedAt: '2026-01-01T00:00:00Z',
      endedAt: '2026-01-01T01:00:00Z',
      skipped: { 'disk-full': 'mounting is not permitted' },
    },
    checkLogs(run),
  );
  expect(report.passed).toBe(false);
  const text = toMarkdown(report);
  for (const part of [
    '**Failed**: 1 failures, 2 recipients accepted with 202, 1 lost, 1 received twice',
    '| Seed | 42 |',
    '| **Lost** | 1 |',
    'node-kill',
    'Not tried: disk-full (mounting is not permitted).',
    'at least once',
    '- lost: b:',
  ])
    expect(text).toContain(part);
});
