import { expect, test } from 'vitest';
import type { PreparedMessage } from './prepare-message.ts';
import { StreamPacer } from './stream-pacer.ts';

/** Messages of a stream with a rate get times apart; everything else is sent at once. */

const NOW = Date.UTC(2026, 0, 1);
const WINDOW_MS = 3_600_000;

function message(more: Partial<PreparedMessage> = {}): PreparedMessage {
  return {
    ...{ workspaceId: 'w', mode: 'live', stream: 'digest', messagesPerMinute: 60 },
    ...{ notBeforeMs: null, ttlSeconds: null, recipients: [{}] },
    schedule: { scheduledAtMs: null, expiresAtMs: NOW + WINDOW_MS },
    ...more,
  } as PreparedMessage;
}

function delayOf(pacer: StreamPacer, given: PreparedMessage, nowMs = NOW): number {
  pacer.pace([given], nowMs);
  return (given.notBeforeMs ?? nowMs) - nowMs;
}

test('the first message is sent at once, and each further one a step later', () => {
  const pacer = new StreamPacer();
  expect([1, 2, 3].map(() => delayOf(pacer, message()))).toEqual([0, 1_000, 2_000]);
  expect(delayOf(pacer, message(), NOW + 2_500)).toBe(500);
  expect(delayOf(pacer, message(), NOW + 60_000)).toBe(0);
});

test('each recipient counts, and fractions of a step add up', () => {
  const pacer = new StreamPacer();
  const recipients = [{}, {}, {}] as PreparedMessage['recipients'];
  expect(delayOf(pacer, message({ recipients, messagesPerMinute: 7 }))).toBe(0);
  expect(delayOf(pacer, message({ messagesPerMinute: 7 }))).toBe(Math.round((3 * 60_000) / 7));
});

test('streams and workspaces do not wait for each other', () => {
  const pacer = new StreamPacer();
  pacer.pace([message()], NOW);
  expect(delayOf(pacer, message({ stream: 'news' }))).toBe(0);
  expect(delayOf(pacer, message({ workspaceId: 'other' }))).toBe(0);
});

test('test mail, scheduled mail and streams without a rate never wait', () => {
  const pacer = new StreamPacer();
  pacer.pace([message()], NOW);
  const schedule = { scheduledAtMs: NOW + 1, expiresAtMs: NOW + WINDOW_MS };
  for (const more of [{ mode: 'test' as const }, { schedule }, { messagesPerMinute: null }]) {
    expect(delayOf(pacer, message(more))).toBe(0);
  }
});

test('a stream in which mail waits for weeks refuses more until it has been sent', () => {
  const pacer = new StreamPacer();
  const days = 24 * 60;
  const recipients = Array.from({ length: 31 * days }, () => ({})) as PreparedMessage['recipients'];
  pacer.pace([message({ recipients, messagesPerMinute: 1 })], NOW);
  const news = message({ stream: 'news' });
  const refused = () => pacer.pace([news, message({ messagesPerMinute: 1 })], NOW);
  expect(refused).toThrow(/digest is already waiting for 30 days/);
  expect(refused).toThrow(expect.objectContaining({ retryAfterSeconds: days * 60 }));
  expect(delayOf(pacer, message({ stream: 'news' }))).toBe(0);
  const later = NOW + days * 60_000;
  expect(delayOf(pacer, message({ messagesPerMinute: 1 }), later)).toBe(30 * days * 60_000);
});

test('a message that is not stored delays no other', () => {
  const pacer = new StreamPacer();
  expect(delayOf(pacer, message())).toBe(0);
  for (let index = 0; index < 10; index++) {
    const refused = [message(), message({ recipients: [{}, {}] as never })];
    pacer.pace(refused, NOW);
    pacer.refund(refused);
  }
  expect(delayOf(pacer, message())).toBe(1_000);
});

test('waiting does not use up the time for attempts, unless the caller limits it', () => {
  const pacer = new StreamPacer();
  pacer.pace([message()], NOW);
  const [usual, limited] = [message(), message({ ttlSeconds: 60 })];
  pacer.pace([usual, limited], NOW);
  expect(usual.schedule.expiresAtMs).toBe(NOW + WINDOW_MS + 1_000);
  expect(limited.schedule.expiresAtMs).toBe(NOW + WINDOW_MS);
});
