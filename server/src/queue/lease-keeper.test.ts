import { expect, test } from 'vitest';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import type { LeasedItem } from './lease.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { ReadyQueue } from './ready-queue.ts';

const LEASE_MS = 120_000;

/** A keeper of so many items whose store records the sizes of its statements. */
function keeperOf(count: number) {
  const clock = new ManualClock(5_000);
  const items = Array.from({ length: count }, (): LeasedItem => {
    return { lease: 8, leaseEndsAtMs: clock.now() + LEASE_MS * 0.4, state: 'preparing' };
  });
  const written: number[] = [];
  const write = async (group: readonly LeasedItem[]): Promise<number[]> => {
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
    pump: () => {},
  });
  return { keeper, clock, items, written };
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
