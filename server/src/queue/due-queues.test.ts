import { expect, test } from 'vitest';
import { DueQueues, type FoundQueue } from './due-queues.ts';

/**
 * Goal: every queue with due rows gets its turn, and empty ones are not claimed from repeatedly.
 */

const NOW = 1_000_000;

interface NamedQueue {
  name: string;
}

function queue(name: string, dueAtMs = NOW): FoundQueue<NamedQueue> {
  return { name, dueAtMs };
}

function learnt(...found: FoundQueue<NamedQueue>[]): DueQueues<NamedQueue> {
  const queues = new DueQueues<NamedQueue>(({ name }) => name);
  queues.update(found, NOW);
  queues.finishScan(NOW);
  return queues;
}

function pick(queues: DueQueues<NamedQueue>, nowMs = NOW, max = 10): string[] {
  return queues.pick(nowMs, max, () => 2).map(({ name }) => name);
}

test('queues that were picked go to the end of the line', () => {
  const queues = learnt(queue('a'), queue('b'), queue('c'));
  expect(pick(queues, NOW, 2)).toEqual(['a', 'b']);
  expect(pick(queues, NOW, 2)).toEqual(['c', 'a']);
  expect(pick(queues, NOW, 2)).toEqual(['b', 'c']);
});

test('skips queues without capacity, which stay due', () => {
  const queues = learnt(queue('full'), queue('b'));
  const picked = queues.pick(NOW, 10, ({ name }) => (name === 'full' ? 0 : 7));
  expect(picked).toMatchObject([{ name: 'b', max: 7 }]);
  expect(queues.hasDue(NOW)).toBe(true);
});

test('a queue that returned fewer rows than requested waits for the next scan, a full one does not', () => {
  const queues = learnt(queue('a'), queue('b'));
  const picked = queues.pick(NOW, 10, () => 2);
  queues.recordClaim(picked, ['a', 'a', 'b']);
  expect(pick(queues)).toEqual(['a']);
  queues.update([queue('a'), queue('b')], NOW);
  expect(pick(queues).sort()).toEqual(['a', 'b']);
});

test('a queue that a complete scan did not find is removed, but not before the scan ends', () => {
  const queues = learnt(queue('a'), queue('b'));
  queues.update([queue('b')], NOW);
  expect(pick(queues).sort()).toEqual(['a', 'b']);
  queues.finishScan(NOW);
  expect(pick(queues)).toEqual(['b']);
});

test('returns when the next queue will be due', () => {
  const queues = learnt(queue('a', NOW + 700), queue('b', NOW + 300), queue('c'));
  expect(queues.nextDueAtMs(NOW)).toBe(NOW + 300);
  expect(pick(queues, NOW + 299)).toEqual(['c']);
  expect(pick(queues, NOW + 300).sort()).toEqual(['b', 'c']);
  expect(learnt().nextDueAtMs(NOW)).toBe(Number.POSITIVE_INFINITY);
});
