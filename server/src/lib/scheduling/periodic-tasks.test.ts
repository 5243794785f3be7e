import { expect, test } from 'vitest';
import { silentLog } from '../log.ts';
import { ManualClock } from '../time/manual-clock.ts';
import { PeriodicTasks } from './periodic-tasks.ts';

test('a rare task runs soon after the start, and then at its interval', async () => {
  const clock = new ManualClock(0);
  const tasks = new PeriodicTasks({ clock, log: silentLog });
  const runs: number[] = [];
  const work = async () => void runs.push(clock.now());
  tasks.schedule(600_000, 'rare', work, 10_000);
  for (let second = 0; second < 1300; second += 10) {
    clock.advance(10_000);
    await new Promise(setImmediate);
  }
  expect(runs).toEqual([10_000, 610_000, 1_210_000]);
  await tasks.stop();
});
