import { expect, test } from 'vitest';
import { DueQueues, type FoundQueue } from './due-queues.ts';

/** Goal: every queue with something due gets its turn, and none is asked in vain over and over. */

const NOW = 1_000_000;

function queue(workspaceId: string, lane = 0, dueAtMs = NOW): FoundQueue {
  return { workspaceId, lane, dueAtMs };
}

function named(queues: readonly { workspaceId: string; lane: number }[]): string[] {
  return queues.map(({ workspaceId, lane }) => `${workspaceId}${lane}`);
}

function learnt(...found: FoundQueue[]): DueQueues {
  const queues = new DueQueues();
  queues.update(found, NOW);
  queues.finishScan(NOW);
  return queues;
}

test('those that had their turn come last', () => {
  const queues = learnt(queue('a'), queue('b'), queue('c'));
  expect(named(queues.pick(NOW, [], 2))).toEqual(['a0', 'b0']);
  expect(named(queues.pick(NOW, [], 2))).toEqual(['c0', 'a0']);
  expect(named(queues.pick(NOW, [], 2))).toEqual(['b0', 'c0']);
});

test('leaves out the workspaces that have enough', () => {
  const queues = learnt(queue('a', 1), queue('a', 2), queue('b'));
  expect(named(queues.pick(NOW, ['a'], 10))).toEqual(['b0']);
  expect(queues.hasDue(NOW)).toBe(true);
});

test('a queue that gave less than was asked rests until the next walk, a full one goes on', () => {
  const queues = learnt(queue('a'), queue('b'));
  const picked = queues.pick(NOW, [], 10);
  const row = { workspace_id: 'a', lane: 0 };
  queues.recordClaim(picked, [row, row, { workspace_id: 'b', lane: 0 }], 2);
  expect(named(queues.pick(NOW, [], 10))).toEqual(['a0']);
  queues.update([queue('a'), queue('b')], NOW);
  expect(named(queues.pick(NOW, [], 10)).sort()).toEqual(['a0', 'b0']);
});

test('what a whole walk has not met is forgotten, and not before its end', () => {
  const queues = learnt(queue('a'), queue('b'));
  queues.update([queue('b')], NOW);
  expect(named(queues.pick(NOW, [], 10)).sort()).toEqual(['a0', 'b0']);
  queues.finishScan(NOW);
  expect(named(queues.pick(NOW, [], 10))).toEqual(['b0']);
});

test('knows when the next one will be due', () => {
  const queues = learnt(queue('a', 0, NOW + 700), queue('b', 0, NOW + 300), queue('c', 0, NOW));
  expect(queues.nextDueAtMs(NOW)).toBe(NOW + 300);
  expect(named(queues.pick(NOW + 299, [], 10))).toEqual(['c0']);
  expect(named(queues.pick(NOW + 300, [], 10)).sort()).toEqual(['b0', 'c0']);
  expect(learnt().nextDueAtMs(NOW)).toBe(Number.POSITIVE_INFINITY);
});
