import { expect, test } from 'vitest';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import type { LeasedItem } from './lease.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { ReadyQueue } from './ready-queue.ts';

const LEASE_MS = 120_000;

/** A keeper of so many items whose store records the sizes of its statements. */
function keeperOf(count: number, options: { pumpsAlways?: boolean } = {}) {
  const clock = new ManualClock(5_000);
  const items = Array.from({ length: count }, (): LeasedItem => {
    return { lease: 8, leaseEndsAtMs: clock.now() + LEASE_MS * 0.4, state: 'preparing' };
  });
  const written: number[] = [];
  const pumped: number[] = [];
  /** Of the next statements. */
  const failures: Error[] = [];
  const write = async (group: readonly LeasedItem[]): Promise<number[]> => {
    const failure = failures.shift();
    if (failure) throw failure;
    written.push(group.length);
    return group.map((_, index) => index);
  };
  const ready = new ReadyQueue<LeasedItem>({
    workspaceOf: () => '',
    receiverOf: () => '',
    limitFor: () => {
      throw new Error('nothing is taken');
    },
    mayTake: () => true,
    sharesTransaction: () => false,
    stats: { ready: 0 },
  });
  const keeper = new LeaseKeeper<LeasedItem>({
    store: { renew: write, release: write },
    clock,
    log: silentLog,
    leaseMs: LEASE_MS,
    ready,
    held: () => items,
    onDropped: () => {},
    onLost: () => {},
    pump: () => pumped.push(clock.now()),
    ...options,
  });
  return { keeper, clock, items, written, pumped, failures };
}

test('many leases are released in several statements', async () => {
  const { keeper, items, written } = keeperOf(4_500);
  await keeper.release(items);
  expect(written).toEqual([2_000, 2_000, 500]);
  expect(items.every(({ state }) => state === 'dropped')).toBe(true);
});

test('many leases are renewed in several statements', async () => {
  const { keeper, clock, items, written } = keeperOf(4_500);
  keeper.start();
  clock.advance(1_000);
  await expect.poll(() => written).toEqual([2_000, 2_000, 500]);
  await expect
    .poll(() => items.every((item) => keeper.isSafe(item, 5_000 + LEASE_MS / 2)))
    .toBe(true);
  keeper.stop();
});

/** Lets seconds pass one by one, with what each of them triggers. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1_000);
    await new Promise(setImmediate);
  }
}

test('it runs every second while items are held, and rests otherwise', async () => {
  const { keeper, clock, items, pumped } = keeperOf(1);
  keeper.start();
  await pass(clock, 3);
  expect(pumped).toEqual([6_000, 7_000, 8_000]);
  const [item] = items.splice(0) as [LeasedItem];
  await pass(clock, 3);
  expect(pumped).toEqual([6_000, 7_000, 8_000, 9_000]);
  expect(clock.timers).toBe(0);
  items.push(item);
  keeper.added();
  keeper.added();
  expect(clock.timers).toBe(1);
  await pass(clock, 2);
  expect(pumped.slice(4)).toEqual([12_000, 13_000]);
  keeper.stop();
  expect(clock.timers).toBe(0);
});

test('a release that failed is tried again until it succeeds, while nothing else is held', async () => {
  const { keeper, clock, items, written, failures } = keeperOf(2);
  const released = items.splice(0);
  failures.push(new Error('Connection terminated'), new Error('Connection terminated'));
  keeper.start();
  await keeper.release(released);
  await pass(clock, 5);
  expect([written, clock.timers]).toEqual([[2], 0]);
  keeper.stop();
});

test('a keeper whose owner has more to do never rests', async () => {
  const { keeper, clock, pumped } = keeperOf(0, { pumpsAlways: true });
  keeper.start();
  await pass(clock, 3);
  expect(pumped).toEqual([6_000, 7_000, 8_000]);
  keeper.stop();
});
