import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FairQueue } from './fair-queue.ts';

/** Work that ends when the test ends it, named by its owner and a number. */
function startWork(slots: number) {
  const queue = new FairQueue(slots);
  const started: string[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  return {
    /** In the order of starting. */
    started,
    async add(...names: string[]): Promise<void> {
      for (const name of names) {
        const end = Promise.withResolvers<void>();
        const [owner = ''] = name;
        void queue.run(owner, () => {
          started.push(name);
          running.set(name, end);
          return end.promise;
        });
      }
      await nextTick();
    },
    /** Returns what started because of it. */
    async end(name: string): Promise<string[]> {
      const before = started.length;
      const end = running.get(name);
      if (!end) throw new Error(`${name} is not running`);
      running.delete(name);
      end.resolve();
      await nextTick();
      return started.slice(before);
    },
    get running(): string[] {
      return [...running.keys()];
    },
  };
}

test('an owner gets no more than its share, and another one starts at once', async () => {
  const work = startWork(4);
  await work.add('a1', 'a2', 'a3', 'a4', 'b1');
  expect(work.started).toEqual(['a1', 'a2', 'a3', 'b1']);
  expect(await work.end('a2')).toEqual(['a4']);
});

test('an owner that has its share and waits for longer does not block the others', async () => {
  const work = startWork(4);
  await work.add('a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'c1');
  expect(work.started).toEqual(['a1', 'a2', 'a3', 'b1']);
  expect(await work.end('b1')).toEqual(['b2']);
  expect(await work.end('b2')).toEqual(['c1']);
  expect(work.running).toEqual(['a1', 'a2', 'a3', 'c1']);
});

test('owners take turns, each in the order of its own work', async () => {
  const work = startWork(1);
  await work.add('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  for (let n = 0; n < 5; n += 1) expect(await work.end(work.running[0] as string)).toHaveLength(1);
  expect(work.started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

test('an owner that begins to wait does not pass those who wait already', async () => {
  const work = startWork(1);
  await work.add('a1', 'b1');
  expect(await work.end('a1')).toEqual(['b1']);
  await work.add('c1', 'a2');
  expect(await work.end('b1')).toEqual(['c1']);
  expect(await work.end('c1')).toEqual(['a2']);
});

test('one end makes room for two: for another owner, and for the share of its own', async () => {
  const work = startWork(7);
  await work.add('a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'b4', 'a4');
  expect(work.running).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
  expect(await work.end('a1')).toEqual(['b4', 'a4']);
});

test('the result or the error is that of the work, and an error frees the slot too', async () => {
  const queue = new FairQueue(1);
  expect(await queue.run('a', async () => 'result')).toBe('result');
  await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  const thrown = queue.run('a', () => {
    throw new Error('thrown');
  });
  await expect(thrown).rejects.toThrow('thrown');
  expect(await queue.run('b', async () => 'free')).toBe('free');
});
