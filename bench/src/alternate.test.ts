import { expect, test } from 'vitest';
import { alternate } from './alternate.ts';

test('contestants take turns, and ratios are those within a round', async () => {
  const turns: string[] = [];
  // The machine is half as fast in the second round.
  const contestant = (name: string, rates: number[]) => ({
    name,
    slice: async () => {
      turns.push(name);
      return { 'messages/s': rates.shift() ?? Number.NaN };
    },
  });
  const contest = await alternate(
    [contestant('fast', [300, 150, 290]), contestant('slow', [100, 50, 100])],
    3,
  );
  expect(turns).toEqual(['fast', 'slow', 'fast', 'slow', 'fast', 'slow']);
  expect(contest.slice('fast')).toEqual({ 'messages/s': 290 });
  expect(contest.ratio(['fast', 'messages/s'], ['slow', 'messages/s'])).toBe(3);
});

test('the median of two slices is between them', async () => {
  const values = [1, 2];
  const contest = await alternate(
    [{ name: 'one', slice: async () => ({ ms: values.shift() as number }) }],
    2,
  );
  expect(contest.slice('one')).toEqual({ ms: 1.5 });
});
