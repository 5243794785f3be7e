import { expect, test } from 'vitest';
import { NO_QUOTAS } from './quota.ts';
import { decideLease, noticesOf } from './quota-leases.ts';

const QUOTAS = { ...NO_QUOTAS, messages_per_hour: 1_000, messages_per_month: 10_000 };
const used = (hour: number, month: number) => ({
  messages_per_hour: hour,
  messages_per_day: month,
  messages_per_month: month,
});

test('a node gets a chunk, what it needs, or what is left', () => {
  expect(decideLease(QUOTAS, used(0, 0), 1)).toEqual({ granted: 10 });
  expect(decideLease(QUOTAS, used(0, 0), 500)).toEqual({ granted: 500 });
  expect(decideLease(QUOTAS, used(996, 996), 1)).toEqual({ granted: 4 });
});

test('a request that does not fit gets nothing, and says what would', () => {
  expect(decideLease(QUOTAS, used(996, 996), 5)).toEqual({
    granted: 0,
    left: 4,
    exhausted: 'messages_per_hour',
    limit: 1_000,
  });
  expect(decideLease(QUOTAS, used(1_000, 10_000), 1)).toMatchObject({
    exhausted: 'messages_per_month',
    left: 0,
  });
});

test('a warning follows the share, and the end of a quota the refusal', () => {
  expect(noticesOf(QUOTAS, used(780, 780), { granted: 10 })).toEqual([]);
  expect(noticesOf(QUOTAS, used(790, 790), { granted: 10 })).toEqual([
    { kind: 'warning', quota: 'messages_per_hour', limit: 1_000, used: 800 },
  ]);
  const refused = decideLease(QUOTAS, used(1_000, 1_000), 1);
  expect(noticesOf(QUOTAS, used(1_000, 1_000), refused).map(({ kind }) => kind)).toEqual([
    'warning',
    'exceeded',
  ]);
});
