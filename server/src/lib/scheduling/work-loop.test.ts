import { expect, test } from 'vitest';
import { silentLog } from '../log.ts';
import { ManualClock } from '../time/manual-clock.ts';
import { WorkLoop, type WorkLoopOptions } from './work-loop.ts';

/** Records the start times of runs; between steps, all pending promises are processed. */
function loopWith(options: Partial<WorkLoopOptions> & { results?: (boolean | Error)[] } = {}) {
  const clock = new ManualClock(0);
  const runs: number[] = [];
  const results = options.results ?? [];
  const loop = new WorkLoop({
    clock,
    log: silentLog,
    task: 'a test',
    idleMs: 100,
    ...options,
    work: async () => {
      runs.push(clock.now());
      const result = results.shift() ?? false;
      if (result instanceof Error) throw result;
      return result;
    },
  });
  return {
    loop,
    clock,
    runs,
    async pass(ms: number) {
      await settled();
      for (let n = 0; n < ms; n++) {
        clock.advance(1);
        await settled();
      }
    },
  };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('polls at growing intervals', async () => {
  const { loop, runs, pass } = loopWith({ firstDelayMs: 10 });
  loop.start();
  await pass(400);
  expect(runs).toEqual([0, 10, 30, 70, 150, 250, 350]);
});

test('runs immediately when woken, then polls again soon', async () => {
  const { loop, runs, pass } = loopWith({ firstDelayMs: 10 });
  loop.start();
  await pass(300);
  runs.length = 0;
  loop.wake();
  await pass(35);
  expect(runs).toEqual([300, 310, 330]);
});

test('repeats while there is more to do', async () => {
  const { loop, runs, pass } = loopWith({ results: [true, true, false] });
  loop.start();
  await pass(1);
  expect(runs).toEqual([0, 0, 0]);
});

test('wake-ups in quick succession share a run', async () => {
  const { loop, runs, pass } = loopWith({ minIntervalMs: () => 20 });
  loop.start();
  for (let n = 0; n < 40; n++) {
    loop.wake();
    await pass(1);
  }
  expect(runs).toEqual([0, 20, 40]);
});

test('a wake-up during a run is not lost', async () => {
  const { loop, runs, pass } = loopWith();
  loop.start();
  loop.wake();
  await pass(2);
  expect(runs.length).toBe(2);
});

test('after a failure it waits for the retry, even if it is woken', async () => {
  const { loop, runs, pass } = loopWith({ results: [new Error('no'), false] });
  loop.start();
  await pass(1);
  for (let n = 0; n < 50; n++) {
    loop.wake();
    await pass(1);
  }
  expect(runs).toEqual([0]);
  await pass(60);
  expect(runs[1]).toBe(100);
});

test('does not run again after stop()', async () => {
  const { loop, runs, pass } = loopWith();
  loop.start();
  await pass(1);
  await loop.stop();
  loop.wake();
  await pass(300);
  expect(runs).toEqual([0]);
});

test('starts again after a stop, even if it was failing', async () => {
  const { loop, clock, runs, pass } = loopWith({ results: [new Error('no')] });
  loop.start();
  await pass(1);
  await loop.stop();
  expect(clock.timers).toBe(0);
  await pass(300);
  loop.start();
  await pass(200);
  expect(runs).toEqual([0, 301, 401, 501]);
  await loop.stop();
});

test('a clock that is set back during a run does not delay the next one', async () => {
  const { loop, clock, runs, pass } = loopWith({ minIntervalMs: () => 50 });
  loop.start();
  clock.setBack(3_600_000);
  await pass(300);
  expect(runs.length).toBeGreaterThanOrEqual(3);
  await loop.stop();
});
