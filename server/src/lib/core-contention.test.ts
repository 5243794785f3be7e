import { expect, test } from 'vitest';
import { CoreContention, type LoopTimes } from './core-contention.ts';

test('contention is high while a busy thread often waits for a core', () => {
  let times: LoopTimes = { atMs: 0, busyMs: 0, runningMs: 0 };
  const contention = new CoreContention(() => times);
  expect(contention.isHigh()).toBe(false);
  times = { atMs: 1_000, busyMs: 800, runningMs: 400 };
  expect(contention.isHigh()).toBe(true);
  // Too soon to measure again.
  times = { atMs: 1_100, busyMs: 900, runningMs: 500 };
  expect(contention.isHigh()).toBe(true);
  times = { atMs: 2_000, busyMs: 1_600, runningMs: 1_150 };
  expect(contention.isHigh()).toBe(false);
  // Idle.
  times = { atMs: 3_000, busyMs: 1_600, runningMs: 1_150 };
  expect(contention.isHigh()).toBe(false);
});
