import { expect, test } from 'vitest';
import {
  axisOf,
  bucketsOf,
  parseRange,
  periodBefore,
  RANGES,
  type Stats,
  startOf,
  sumOf,
} from './ranges.ts';

const NOW = Date.parse('2026-11-15T09:30:10Z');

function stats(interval: string, from: string, to: string, starts: string[]): Stats {
  const points = starts.map((start) => ({ start, delivered: 2 }));
  return { interval, from, to, data: [{ group: null, totals: {}, points }] } as unknown as Stats;
}

test('a range ends with the current interval', () => {
  expect(startOf(RANGES.hour, NOW)).toBe('2026-11-15T08:31:00.000Z');
  expect(startOf(RANGES.day, NOW)).toBe('2026-11-14T10:00:00.000Z');
  expect(startOf(RANGES.month, NOW)).toBe('2026-10-17T00:00:00.000Z');
});

test('includes empty buckets and sums larger ones', () => {
  const from = startOf(RANGES.day, NOW);
  const day = stats('hour', from, '2026-11-15T10:00:00.000Z', [
    '2026-11-14T10:00:00.000Z',
    '2026-11-15T08:00:00.000Z',
    '2026-11-15T09:00:00.000Z',
  ]);
  const single = bucketsOf(day, 1).map((step) => sumOf(step, ({ delivered }) => delivered));
  expect(single).toHaveLength(24);
  expect([single[0], single[1], single[22], single[23]]).toEqual([2, 0, 2, 2]);
  const grouped = bucketsOf(day, 4).map((step) => sumOf(step, ({ delivered }) => delivered));
  expect(grouped).toEqual([2, 0, 0, 0, 0, 4]);
});

test('days are labeled in UTC, as they are counted', () => {
  const month = stats('day', '2026-10-17T00:00:00.000Z', '2026-11-16T00:00:00.000Z', []);
  const { short, long } = axisOf(bucketsOf(month, 1), 'day');
  expect([short[0], short.at(-1)]).toEqual(['Oct 17', 'Nov 15']);
  expect(long[0]).toBe('Saturday, October 17, UTC');
});

test('a custom range uses the shortest interval that suits its length and age', () => {
  const range = (after: string, before?: string) =>
    parseRange({ after, ...(before === undefined ? {} : { before }) }, NOW);
  expect(range('2026-11-15T08:00:00.000Z')).toMatchObject({ interval: 'minute', bucketSize: 2 });
  expect(range('2026-11-01T00:00:00.000Z', '2026-11-08T00:00:00.000Z')).toMatchObject({
    interval: 'hour',
    steps: 168,
    filter: { after: '2026-11-01T00:00:00.000Z', before: '2026-11-08T00:00:00.000Z' },
  });
  expect(range('2026-05-01T00:00:00.000Z', '2026-05-02T00:00:00.000Z').interval).toBe('day');
  expect(range('2026-11-08T00:00:00.000Z', '2026-11-01T00:00:00.000Z')).toBe(RANGES.day);
  expect(range('yesterday')).toBe(RANGES.day);
  expect(parseRange({ range: 'week' }, NOW)).toBe(RANGES.week);
});

test('the period before has the same length and ends where the range starts', () => {
  expect(periodBefore(RANGES.day, NOW)).toEqual({
    from: '2026-11-13T10:00:00.000Z',
    to: '2026-11-14T10:00:00.000Z',
  });
  const after = '2026-11-08T12:00:00.000Z';
  const week = parseRange({ after, before: '2026-11-10T12:00:00.000Z' }, NOW);
  expect(periodBefore(week, NOW)).toEqual({ from: '2026-11-06T12:00:00.000Z', to: after });
});
