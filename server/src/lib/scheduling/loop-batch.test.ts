import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { onceInLoopBatch, runInLoopBatch } from './loop-batch.ts';

test('tasks of one iteration run in order, before what they lead to', async () => {
  const steps: string[] = [];
  for (const name of ['a', 'b']) {
    runInLoopBatch(() => {
      steps.push(`${name} read`);
      void Promise.resolve().then(() => steps.push(`${name} stored`));
    });
  }
  expect(steps).toEqual([]);
  await nextTurn();
  expect(steps).toEqual(['a read', 'b read', 'a stored', 'b stored']);
});

test('a task that is added by another runs in the next iteration', async () => {
  const steps: string[] = [];
  runInLoopBatch(() => {
    steps.push('first');
    runInLoopBatch(() => steps.push('second'));
  });
  await nextTurn();
  expect(steps).toEqual(['first']);
  await nextTurn();
  expect(steps).toEqual(['first', 'second']);
});

test('a task that is wanted several times in one iteration runs once in it', async () => {
  let runs = 0;
  const run = onceInLoopBatch(() => {
    runs += 1;
  });
  run();
  run();
  expect(runs).toBe(0);
  await nextTurn();
  expect(runs).toBe(1);
  run();
  await nextTurn();
  expect(runs).toBe(2);
});
