import { expect, test } from 'vitest';
import type { FoundQueue } from '../messages/deliveries/claim-store.ts';
import { DueQueues } from './due-queues.ts';

/**
 * Goal: every queue with due rows gets its turn, and empty ones are not claimed from repeatedly.
 */

const NOW = 1_000_000;

function queue(workspaceId: string, shard = 0, dueAtMs = NOW): FoundQueue {
  return { workspaceId, shard, dueAtMs };
}

function named(queues: readonly { workspaceId: string; shard: number }[]): string[] {
  return queues.map(({ workspaceId, shard }) => `${workspaceId}${shard}`);
}

function learnt(...found: FoundQueue[]): DueQueues {
  const queues = new DueQueues();
  queues.update(found, NOW);
  queues.finishScan(NOW);
  return queues;
}

test('queues that were picked go to the end of the line', () => {
  const queues = learnt(queue('a'), queue('b'), queue('c'));
  expect(named(queues.pick(NOW, [], 2))).toEqual(['a0', 'b0']);
  expect(named(queues.pick(NOW, [], 2))).toEqual(['c0', 'a0']);
  expect(named(queues.pick(NOW, [], 2))).toEqual(['b0', 'c0']);
});

test('skips workspaces that have enough in memory', () => {
  const queues = learnt(queue('a', 1), queue('a', 2), queue('b'));
  expect(named(queues.pick(NOW, ['a'], 10))).toEqual(['b0']);
  expect(queues.hasDue(NOW)).toBe(true);
});

test('a queue that returned fewer rows than requested waits for the next scan, a full one does not', () => {
  const queues = learnt(queue('a'), queue('b'));
  const picked = queues.pick(NOW, [], 10);
  const row = { workspace_id: 'a', shard: 0 };
  queues.recordClaim(picked, [row, row, { workspace_id: 'b', shard: 0 }], 2);
  expect(named(queues.pick(NOW, [], 10))).toEqual(['a0']);
  queues.update([queue('a'), queue('b')], NOW);
  expect(named(queues.pick(NOW, [], 10)).sort()).toEqual(['a0', 'b0']);
});

test('a queue that a complete scan did not find is removed, but not before the scan ends', () => {
  const queues = learnt(queue('a'), queue('b'));
  queues.update([queue('b')], NOW);
  expect(named(queues.pick(NOW, [], 10)).sort()).toEqual(['a0', 'b0']);
  queues.finishScan(NOW);
  expect(named(queues.pick(NOW, [], 10))).toEqual(['b0']);
});

test('returns when the next queue will be due', () => {
  const queues = learnt(queue('a', 0, NOW + 700), queue('b', 0, NOW + 300), queue('c', 0, NOW));
  expect(queues.nextDueAtMs(NOW)).toBe(NOW + 300);
  expect(named(queues.pick(NOW + 299, [], 10))).toEqual(['c0']);
  expect(named(queues.pick(NOW + 300, [], 10)).sort()).toEqual(['b0', 'c0']);
  expect(learnt().nextDueAtMs(NOW)).toBe(Number.POSITIVE_INFINITY);
});
