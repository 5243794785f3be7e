import { expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import type { Lease } from '../messages/handover.ts';
import { reserve, settle } from './hatch.ts';
import { statsIn, statsMemory } from './stats.ts';

/** Both sides of the hatch, each with its own view of the same memory, as two threads have them. */
function hatch() {
  const memory = statsMemory();
  const engine = statsIn(memory);
  engine.open = 1;
  const limits = { readyMax: 100, contentBytesMax: 1_000, leaseMs: 60_000 };
  const parts = { stats: statsIn(memory), clock: new ManualClock(5_000), limits };
  return { engine, ask: (count: number, bytes: number) => reserve(parts, count, bytes) };
}

test('a lease is given while the engine is open', () => {
  const { engine, ask } = hatch();
  expect(ask(2, 300)).toMatchObject({ endsAtMs: 65_000, count: 2, bytes: 300 });
  engine.open = 0;
  expect(ask(1, 1)).toBeUndefined();
});

test('a quarter of the list stays free for claims', () => {
  const { engine, ask } = hatch();
  engine.ready = 70;
  expect(ask(6, 0)).toBeUndefined();
  expect(ask(5, 0)).toBeDefined();
  expect(ask(1, 0)).toBeUndefined();
});

test('contents have a bound, those on their way included', () => {
  const { engine, ask } = hatch();
  engine.contentBytes = 400;
  expect(ask(1, 500)).toBeDefined();
  expect(ask(1, 101)).toBeUndefined();
  expect(ask(1, 100)).toBeDefined();
});

test('what has come is no longer on its way', () => {
  const { engine, ask } = hatch();
  const lease = ask(75, 1_000) as Lease;
  expect(ask(1, 0)).toBeUndefined();
  settle(engine, lease);
  expect(ask(75, 1_000)).toBeDefined();
});
