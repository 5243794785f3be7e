import { afterAll, expect, test } from 'vitest';
import { RefusedError } from '../refused-error.ts';
import { ManualClock } from '../time/manual-clock.ts';
import { TaskThread } from './task-thread.ts';

/** The order in which a real worker thread serves its queues, and its isolation from bad tasks. */

const clock = new ManualClock(0);
const entry = new URL('../../../test/fixtures/task-thread-worker.ts', import.meta.url);
const tooComplex = () => new RefusedError('malformed_request', 'Too complex.');
const thread = new TaskThread<string, string>({
  clock,
  entry,
  memoryMb: 32,
  label: 'The task',
  tooComplex,
});
afterAll(() => thread.stop());

test('queues are served round-robin, each in its own order', async () => {
  const done: string[] = [];
  const submit = async (queueKey: string, name: string) => {
    done.push(await thread.run(queueKey, name));
  };
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map((name) => submit('a', name)),
    ...['b1', 'b2'].map((name) => submit('b', name)),
    submit('c', 'c1'),
  ]);
  // a1 starts at once, before the other queues have entries.
  expect(done).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('a refused task keeps its errors, and one that ends the thread affects no other', async () => {
  const results = await Promise.allSettled([
    thread.run('a', 'refuse'),
    thread.run('a', 'fail'),
    thread.run('a', 'exhaust memory'),
    thread.run('b', 'next'),
  ]);
  expect(results).toEqual([
    {
      status: 'rejected',
      reason: expect.objectContaining({
        code: 'validation_failed',
        message: 'Not valid.',
        errors: [{ pointer: '/x', code: 'required', detail: 'Missing.' }],
      }),
    },
    { status: 'rejected', reason: expect.objectContaining({ message: 'a bug' }) },
    { status: 'rejected', reason: expect.objectContaining({ message: 'Too complex.' }) },
    { status: 'fulfilled', value: 'next' },
  ]);
});

test('tasks that no one waits for are not started, or end', async () => {
  const given = new AbortController();
  const running = thread.run('a', 'loop', given.signal);
  const waiting = thread.run('a', 'fail', given.signal);
  const next = thread.run('b', 'next');
  given.abort();
  await expect(running).rejects.toMatchObject({ code: 'overloaded' });
  await expect(waiting).rejects.toMatchObject({ code: 'overloaded' });
  expect(await next).toBe('next');
});

test('a task that never ends is stopped', async () => {
  const endless = thread.run('a', 'loop');
  const next = thread.run('b', 'next');
  clock.advance(30_000);
  await expect(endless).rejects.toMatchObject({ code: 'overloaded' });
  expect(await next).toBe('next');
});
