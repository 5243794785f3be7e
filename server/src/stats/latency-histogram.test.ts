import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketMs, bucketOf, percentileMs } from './latency-histogram.ts';

test('the middle of a bucket is within 10% of the value', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 300_000_000 }), (ms) => {
      // Values are whole milliseconds, so half of one is rounding.
      expect(Math.abs(bucketMs(bucketOf(ms)) - ms)).toBeLessThanOrEqual(ms * 0.1 + 0.5);
    }),
  );
});

test('zero, negative and very large values have buckets', () => {
  expect([bucketOf(0), bucketOf(-5), bucketOf(0.5)]).toEqual([0, 0, 0]);
  expect(bucketOf(10 ** 12)).toBe(116);
});

test('percentiles are within 10% of the exact ones', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 10, max: 10_000_000 }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (values, share) => {
        const counts = new Map<number, number>();
        for (const ms of values) counts.set(bucketOf(ms), (counts.get(bucketOf(ms)) ?? 0) + 1);
        const sorted = values.toSorted((a, b) => a - b);
        const exact = sorted[Math.ceil(values.length * share) - 1] as number;
        const actual = percentileMs(counts, share) as number;
        expect(Math.abs(actual - exact)).toBeLessThanOrEqual(exact * 0.1 + 0.5);
      },
    ),
  );
  expect(percentileMs(new Map(), 0.5)).toBeNull();
});
