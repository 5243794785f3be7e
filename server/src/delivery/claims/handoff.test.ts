import { expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import type { Lease } from '../../messages/accept/delivery-handoff.ts';
import { allocateStatsMemory, sharedStats } from '../engine-stats.ts';
import { releaseReservation, reserveCapacity } from './handoff.ts';

/** Both sides of the handoff, each with its own view of the shared memory, as in two threads. */
function handoff() {
  const memory = allocateStatsMemory();
  const engine = sharedStats(memory);
  engine.accepting = 1;
  engine.readyLimit = 100;
  const limits = { contentBytesMax: 1_000, leaseMs: 60_000 };
  const parts = { stats: sharedStats(memory), clock: new ManualClock(5_000), limits };
  return {
    engine,
    reserve: (count: number, bytes: number) => reserveCapacity(parts, count, bytes),
  };
}

test('a lease is granted while the engine accepts', () => {
  const { engine, reserve } = handoff();
  expect(reserve(2, 300)).toMatchObject({ endsAtMs: 65_000, count: 2, bytes: 300 });
  engine.accepting = 0;
  expect(reserve(1, 1)).toBeUndefined();
});

test('a quarter of the ready queue stays free for claims', () => {
  const { engine, reserve } = handoff();
  engine.ready = 70;
  expect(reserve(6, 0)).toBeUndefined();
  expect(reserve(5, 0)).toBeDefined();
  expect(reserve(1, 0)).toBeUndefined();
});

test('content bytes are limited, including reserved ones', () => {
  const { engine, reserve } = handoff();
  engine.contentBytes = 400;
  expect(reserve(1, 500)).toBeDefined();
  expect(reserve(1, 101)).toBeUndefined();
  expect(reserve(1, 100)).toBeDefined();
});

test('released reservations no longer count', () => {
  const { engine, reserve } = handoff();
  const lease = reserve(75, 1_000) as Lease;
  expect(reserve(1, 0)).toBeUndefined();
  releaseReservation(engine, lease);
  expect(reserve(75, 1_000)).toBeDefined();
});
