import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runInLoopBatch } from './loop-batch.ts';

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
