import { expect, test } from 'vitest';
import { formatDuration, formatWholeDuration } from './format.ts';

test('durations in charts use the unit that fits', () => {
  expect([4, 431, 1_218, 12_400, 300_000, 7_200_000].map(formatDuration)).toEqual([
    '4 ms',
    '431 ms',
    '1.2 s',
    '12 s',
    '5 min',
    '2 h',
  ]);
});

test.each([
  [20_000, '20 seconds'],
  [60_000, '1 minute'],
  [5_400_000, '90 minutes'],
  [72 * 3_600_000, '3 days'],
])('%d ms is written as %s', (ms, text) => {
  expect(formatWholeDuration(ms)).toBe(text);
});
