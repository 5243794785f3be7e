import { expect, test } from 'vitest';
import { computeFigures } from './query-stats.ts';

test('without counts all numbers are 0 and all rates are null', () => {
  const figures = computeFigures([]);
  expect(figures).toMatchObject({ messages: 0, delivered: 0, bounced_by_reason: {} });
  expect(Object.values(figures.rates)).toEqual([null, null, null, null, null]);
  expect(figures.latency).toEqual({ p50_ms: null, p95_ms: null, p99_ms: null });
});

test('rates compare final results only', () => {
  const { rates } = computeFigures([
    ['accepted', 100],
    ['delivered', 6],
    ['bounced', 2],
    ['failed', 1],
    ['expired', 1],
    ['deferred', 50],
    ['opened', 3],
  ]);
  expect(rates).toMatchObject({ delivered: 0.6, bounced: 0.2, opened: 0.5, clicked: 0 });
});

test('a late bounce does not count as delivered', () => {
  const counts = [
    ['delivered', 4],
    ['bounced', 1],
    ['bounced_later', 1],
  ] as const;
  expect(computeFigures(counts).rates).toMatchObject({ delivered: 0.75, bounced: 0.25 });
  expect(computeFigures(counts).delivered).toBe(4);
});

test('late bounces of an earlier range never make a rate negative', () => {
  const { rates } = computeFigures([
    ['bounced', 2],
    ['bounced_later', 2],
  ]);
  expect(rates).toMatchObject({ delivered: 0, bounced: 1 });
});

test('adds up the counts of several intervals, reasons and latencies', () => {
  const figures = computeFigures([
    ['bounced', 1],
    ['bounced', 2],
    ['bounced.mailbox_full', 1],
    ['bounced.mailbox_full', 2],
    ['suppressed', 1],
    ['suppressed.complaint', 1],
    ['latency.0', 9],
    ['latency.40', 1],
  ]);
  expect(figures.bounced).toBe(3);
  expect(figures.bounced_by_reason).toEqual({ mailbox_full: 3 });
  expect(figures.suppressed).toBe(1);
  expect(figures.suppressed_by_reason).toEqual({ complaint: 1 });
  expect(figures.latency.p50_ms).toBe(0);
  expect(figures.latency.p99_ms).toBeGreaterThan(0);
});
