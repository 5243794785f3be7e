import { expect, test } from 'vitest';
import { formatDuration, labeledIndexes, ticksUpTo } from './scale.ts';

test('the axis begins at nothing, ends above the greatest, and names round values', () => {
  expect(ticksUpTo(0)).toEqual([0, 1]);
  expect(ticksUpTo(1)).toEqual([0, 1]);
  expect(ticksUpTo(7)).toEqual([0, 5, 10]);
  expect(ticksUpTo(10)).toEqual([0, 5, 10]);
  expect(ticksUpTo(640)).toEqual([0, 250, 500, 750]);
  expect(ticksUpTo(980)).toEqual([0, 500, 1000]);
  for (let max = 1; max < 5_000; max = Math.ceil(max * 1.07)) {
    const ticks = ticksUpTo(max);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(max);
    expect(ticks.length).toBeLessThanOrEqual(4);
    expect(ticks.every((tick) => Number.isInteger(tick))).toBe(true);
  }
});

test('names on the time axis keep their distance, and a day is named where it begins', () => {
  const places = (count: number) => Array.from({ length: count }, (_, place) => `at ${place}`);
  expect(labeledIndexes(places(24), 600, 60)).toEqual([2, 5, 8, 11, 14, 17, 20, 23]);
  expect(labeledIndexes(places(3), 600, 60)).toEqual([0, 1, 2]);
  expect(labeledIndexes(places(30), 10, 60)).toEqual([29]);
  expect(labeledIndexes([], 600, 60)).toEqual([]);
  const days = places(60).map((_, place) => `day ${Math.floor((place + 2) / 24)}`);
  expect(labeledIndexes(days, 600, 60)).toEqual([0, 22, 46]);
  expect(labeledIndexes(days, 100, 60)).toEqual([0, 46]);
});

test('times are told in the unit that fits', () => {
  expect([4, 431, 1_218, 12_400, 300_000, 7_200_000].map(formatDuration)).toEqual([
    '4 ms',
    '431 ms',
    '1.2 s',
    '12 s',
    '5 min',
    '2 h',
  ]);
});
