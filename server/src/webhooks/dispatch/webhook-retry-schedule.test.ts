import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextRetryDelayMs, parseRetryAfter, RETRY_DELAYS_MS } from './webhook-retry-schedule.ts';

describe('the delay after a failure', () => {
  test('follows the schedule within a tenth either way', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 8 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const planned = RETRY_DELAYS_MS[failures] as number;
          const wait = nextRetryDelayMs(failures + 1, random, undefined) as number;
          expect(Math.abs(wait - planned)).toBeLessThanOrEqual(planned * 0.1 + 1);
        },
      ),
    );
  });

  test('ends after nine retries, which take about three days', () => {
    expect(nextRetryDelayMs(10, 0.5, undefined)).toBeUndefined();
    const days = RETRY_DELAYS_MS.reduce((sum, wait) => sum + wait, 0) / 86_400_000;
    expect(days).toBeGreaterThan(3);
    expect(days).toBeLessThan(3.3);
  });

  test('differs between events that failed together', () => {
    expect(nextRetryDelayMs(2, 0, undefined)).not.toBe(nextRetryDelayMs(2, 0.9, undefined));
  });

  test('grows with Retry-After, up to a day, and never shrinks', () => {
    expect(nextRetryDelayMs(1, 0.5, 60_000)).toBe(60_000);
    expect(nextRetryDelayMs(2, 0.5, 1_000)).toBe(300_000);
    expect(nextRetryDelayMs(1, 0.5, 365 * 86_400_000)).toBe(86_400_000);
  });
});

test.each([
  ['120', 120_000],
  [' 5 ', 5_000],
  ['Sun, 15 Nov 2026 09:01:00 GMT', 60_000],
  ['Sun, 15 Nov 2026 08:00:00 GMT', 0],
  ['-5', undefined],
  ['1.5', undefined],
  ['soon', undefined],
  ['2026-11-15', undefined],
  ['99999999999999999999', undefined],
  [undefined, undefined],
])('Retry-After %j means %j ms', (text, expected) => {
  expect(parseRetryAfter(text, Date.UTC(2026, 10, 15, 9, 0, 0))).toBe(expected);
});
