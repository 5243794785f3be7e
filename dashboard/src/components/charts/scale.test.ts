import { expect, test } from 'vitest';
import { labeledIndexes, runsOf, ticksUpTo } from './scale.ts';

test('the axis starts at 0, ends above the maximum, and uses round values', () => {
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

test('labels on the time axis do not overlap, and a day is labeled where it begins', () => {
  const labels = (count: number) => Array.from({ length: count }, (_, index) => `at ${index}`);
  expect(labeledIndexes(labels(24), 600, 60)).toEqual([2, 5, 8, 11, 14, 17, 20, 23]);
  expect(labeledIndexes(labels(3), 600, 60)).toEqual([0, 1, 2]);
  expect(labeledIndexes(labels(30), 10, 60)).toEqual([29]);
  expect(labeledIndexes([], 600, 60)).toEqual([]);
  const days = labels(60).map((_, index) => `day ${Math.floor((index + 2) / 24)}`);
  expect(labeledIndexes(days, 600, 60)).toEqual([0, 22, 46]);
  expect(labeledIndexes(days, 100, 60)).toEqual([0, 46]);
});

test('a line ends where there is no value', () => {
  expect(runsOf([])).toEqual([]);
  expect(runsOf([null, null])).toEqual([]);
  const run = (start: number, ...values: number[]) =>
    values.map((value, offset) => ({ index: start + offset, value }));
  expect(runsOf([null, 4, 0, null, null, 7, null, 2])).toEqual([
    run(1, 4, 0),
    run(5, 7),
    run(7, 2),
  ]);
});
