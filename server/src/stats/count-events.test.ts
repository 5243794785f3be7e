import { describe, expect, test } from 'vitest';
import type { EventType } from '../events/event-types.ts';
import { SYSTEM_TAG } from '../messages/system-tag.ts';
import { DIMENSIONS, type Dimension, type PackedCounts } from './count-buckets.ts';
import { type CountedEvent, countEvents } from './count-events.ts';

interface Count {
  workspaceId: string;
  mode: string;
  atMs: number;
  dimension: Dimension;
  value: string;
  counter: string;
  n: number;
}

function countsOf(...args: Parameters<typeof countEvents>): Count[] {
  return countEvents(...args).flatMap((minute) =>
    (['all', ...DIMENSIONS] as const).flatMap((dimension) => {
      const packed = JSON.parse(minute.pack(dimension) ?? '{}') as PackedCounts;
      return Object.entries(packed).flatMap(([value, sums]) =>
        Object.entries(sums).map(([counter, n]) => {
          const { workspaceId, mode, atMs } = minute;
          return { workspaceId, mode, atMs, dimension, value, counter, n };
        }),
      );
    }),
  );
}

function event(type: EventType, change: Partial<CountedEvent> = {}): CountedEvent {
  return {
    workspaceId: 'w',
    mode: 'live',
    type,
    createdAtMs: 90_000,
    recipient: 'jane@gmail.com',
    recipients: [],
    tags: [],
    contentBytes: 0,
    bounceReason: null,
    suppressionReason: null,
    afterDelivery: false,
    mx: null,
    machine: false,
    first: true,
    sender: 'Shop@Shop.Example',
    templateKey: null,
    stream: 'transactional',
    startedAtMs: null,
    ...change,
  };
}

function counters(counts: readonly Count[], dimension: Dimension, value = ''): object {
  const own = counts.filter((count) => count.dimension === dimension && count.value === value);
  return Object.fromEntries(own.map(({ counter, n }) => [counter, n]));
}

describe('counting events', () => {
  test('mail of the service to its own users is not counted', () => {
    const tags = [SYSTEM_TAG];
    const recipients = ['joe@gmail.com'];
    const events = [
      event('message.accepted', { tags, recipients }),
      event('message.bounced', { tags, bounceReason: 'unknown_mailbox' }),
    ];
    expect(countsOf(events)).toEqual([]);
  });

  test('an accepted message counts once, and its recipients each by their receiver', () => {
    const counts = countsOf([
      event('message.accepted', {
        recipient: null,
        recipients: ['a@gmail.com', 'b@gmail.com', 'c@outlook.com'],
        contentBytes: 5_000,
        tags: ['welcome', 'welcome'],
        templateKey: 'greeting',
      }),
    ]);
    const all = { messages: 1, accepted: 3 };
    expect(counters(counts, 'all')).toEqual({ ...all, content_bytes: 5_000 });
    expect(counters(counts, 'tag', 'welcome')).toEqual(all);
    expect(counters(counts, 'template', 'greeting')).toEqual(all);
    expect(counters(counts, 'domain', 'shop.example')).toEqual(all);
    expect(counters(counts, 'stream', 'transactional')).toEqual(all);
    const receivers = counts.filter(({ dimension }) => dimension === 'receiver');
    expect(receivers.map(({ counter, n }) => [counter, n])).toEqual([
      ['accepted', 2],
      ['accepted', 1],
    ]);
  });

  test('an inbound message counts with its bytes only', () => {
    const absent = { recipient: null, sender: null, stream: null };
    const counts = countsOf([event('inbound_message.received', { ...absent, contentBytes: 700 })]);
    expect(counts).toHaveLength(1);
    expect(counters(counts, 'all')).toEqual({ content_bytes: 700 });
  });

  test('a delivery counts its latency when the start is known', () => {
    expect(counters(countsOf([event('message.delivered')]), 'all')).toEqual({ delivered: 1 });
    const timed = countsOf([event('message.delivered', { startedAtMs: 89_000 })]);
    expect(Object.keys(counters(timed, 'all'))).toEqual([
      'delivered',
      expect.stringMatching(/^latency\.\d+$/),
    ]);
  });

  test('a bounce counts its reason, and a late one is marked', () => {
    const counts = countsOf([
      event('message.bounced', { bounceReason: 'mailbox_full' }),
      event('message.bounced', { afterDelivery: true }),
    ]);
    expect(counters(counts, 'all')).toEqual({
      bounced: 2,
      bounced_later: 1,
      'bounced.mailbox_full': 1,
      'bounced.unknown': 1,
    });
  });

  test('a suppressed recipient counts its reason', () => {
    const counts = countsOf([event('message.suppressed', { suppressionReason: 'complaint' })]);
    expect(counters(counts, 'all')).toEqual({ suppressed: 1, 'suppressed.complaint': 1 });
  });

  test('opens and clicks of machines are separate, and further links are counted only as links', () => {
    const counts = countsOf([
      event('message.opened'),
      event('message.opened', { machine: true }),
      event('message.clicked'),
      event('message.clicked', { first: false }),
      event('message.clicked', { machine: true }),
      event('message.clicked', { machine: true, first: false }),
    ]);
    expect(counters(counts, 'all')).toEqual({
      opened: 1,
      opened_by_machine: 1,
      clicked: 1,
      links_clicked: 2,
      clicked_by_machine: 1,
    });
  });

  test('events that are not about a message count nothing', () => {
    const types = ['domain.verified', 'alarm.raised', 'message.scheduled'] as const;
    expect(countEvents(types.map((type) => event(type)))).toEqual([]);
  });

  test('minutes, modes and workspaces are separate, in the order of their keys', () => {
    const counts = countsOf([
      event('message.failed', { createdAtMs: 59_999 }),
      event('message.failed', { createdAtMs: 60_000 }),
      event('message.failed', { createdAtMs: 60_001 }),
      event('message.failed', { createdAtMs: 60_000, mode: 'test' }),
      event('message.failed', { createdAtMs: 60_000, workspaceId: 'other' }),
    ]);
    const all = counts.filter(({ dimension }) => dimension === 'all');
    expect(all.map(({ workspaceId, mode, atMs, n }) => [workspaceId, mode, atMs, n])).toEqual([
      ['other', 'live', 60_000, 1],
      ['w', 'live', 0, 1],
      ['w', 'live', 60_000, 2],
      ['w', 'test', 60_000, 1],
    ]);
  });

  test('the caller may count a value under another label', () => {
    const events = ['a', 'b'].map((tag) => event('message.failed', { tags: [tag] }));
    const counts = countsOf(events, (_event, dimension, value) =>
      dimension === 'tag' ? '(other)' : value,
    );
    expect(counters(counts, 'tag', '(other)')).toEqual({ failed: 2 });
  });
});
