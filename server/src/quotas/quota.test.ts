import { expect, test } from 'vitest';
import {
  chunkOf,
  exhaustedQuota,
  isWarningDue,
  leftOf,
  messageQuotaExceeded,
  NO_QUOTAS,
  periodOf,
} from './quota.ts';

const NOW = Date.parse('2026-12-31T23:59:30.000Z');
const iso = (ms: number): string => new Date(ms).toISOString();

test.each([
  ['messages_per_hour', '2026-12-31T23:00:00.000Z'],
  ['messages_per_day', '2026-12-31T00:00:00.000Z'],
  ['messages_per_month', '2026-12-01T00:00:00.000Z'],
] as const)('the period of %s at the end of a year', (quota, start) => {
  const { startMs, endMs } = periodOf(quota, NOW);
  expect([iso(startMs), iso(endMs)]).toEqual([start, '2027-01-01T00:00:00.000Z']);
});

test('a node leases a hundredth of the smallest quota, at least one message', () => {
  expect(chunkOf(NO_QUOTAS)).toBe(1_000);
  expect(chunkOf({ ...NO_QUOTAS, messages_per_month: 10_000_000 })).toBe(1_000);
  expect(chunkOf({ ...NO_QUOTAS, messages_per_day: 5_000, messages_per_month: 100_000 })).toBe(50);
  expect(chunkOf({ ...NO_QUOTAS, messages_per_hour: 0 })).toBe(1);
});

const USAGE = { messages_per_hour: 5, messages_per_day: 80, messages_per_month: 400 };

test('the smallest remainder of all quotas is left', () => {
  expect(leftOf(NO_QUOTAS, USAGE)).toBe(Infinity);
  const quotas = { ...NO_QUOTAS, messages_per_hour: 10, messages_per_day: 83 };
  expect(leftOf(quotas, USAGE)).toBe(3);
  expect(leftOf({ ...quotas, messages_per_month: 300 }, USAGE)).toBe(0);
});

test('the quota that is reset last is named', () => {
  const quotas = { ...NO_QUOTAS, messages_per_hour: 5, messages_per_day: 83 };
  expect(exhaustedQuota(quotas, USAGE, 1)).toBe('messages_per_hour');
  expect(exhaustedQuota(quotas, USAGE, 4)).toBe('messages_per_day');
  expect(exhaustedQuota(NO_QUOTAS, USAGE, 1_000_000)).toBeUndefined();
});

test('a refusal says which quota, and until when', () => {
  const { code, retryAfterSeconds, quota } = messageQuotaExceeded('messages_per_hour', 5, NOW);
  expect({ code, retryAfterSeconds, quota }).toEqual({
    code: 'quota_exceeded',
    retryAfterSeconds: 30,
    quota: { name: 'messages_per_hour', resetsAt: '2027-01-01T00:00:00.000Z' },
  });
});

test.each([
  [100, 79, false],
  [100, 80, true],
  [0, 0, true],
])('of %i, %i is worth a warning at 80 %%: %s', (limit, used, due) => {
  expect(isWarningDue(limit, used, 80)).toBe(due);
});
