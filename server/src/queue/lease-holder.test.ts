import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { newLeaseToken } from './lease.ts';
import { SharedHolder } from './lease-holder.ts';
import type { HolderState, LeaseHolderStore } from './lease-holder-store.ts';

/**
 * Goal: leases of a dead holder are taken over within seconds, and never while it may still use them.
 * Method: holders on one table in memory, with a clock and a stopwatch that the test moves.
 */
class SharedTable {
  readonly holders = new Map<number, HolderState>();
  readonly takenOver: string[] = [];
  isDown = false;
  #lastId = 0;

  /** The store of one process, which may be cut off on its own. */
  store(isCutOff: () => boolean = () => false): LeaseHolderStore {
    const connect = () => {
      if (this.isDown || isCutOff()) throw new Error('Connection terminated');
    };
    return {
      register: async (name) => {
        connect();
        this.#lastId += 1;
        this.holders.set(this.#lastId, { id: this.#lastId, name, heartbeats: 0 });
        return this.#lastId;
      },
      heartbeat: async (id) => {
        connect();
        const own = this.holders.get(id);
        if (!own) return undefined;
        own.heartbeats += 1;
        return [...this.holders.values()].map((holder) => ({ ...holder }));
      },
      takeOver: async ({ id, heartbeats, name }) => {
        connect();
        if (this.holders.get(id)?.heartbeats !== heartbeats) return undefined;
        this.holders.delete(id);
        this.takenOver.push(name);
        return 1;
      },
      unregister: async (id) => {
        connect();
        this.holders.delete(id);
      },
    };
  }
}

/** A process: its timers do not fire while it is suspended. */
class Process {
  readonly clock = new ManualClock(0);
  readonly holder: SharedHolder;
  stopwatchMs = 0;
  isSuspended = false;
  isCutOff = false;
  lost = 0;
  changes: boolean[] = [];

  constructor(table: SharedTable, name: string) {
    this.holder = new SharedHolder({
      store: table.store(() => this.isCutOff),
      clock: this.clock,
      systemClock: this.clock,
      stopwatchMs: () => this.stopwatchMs,
      log: silentLog,
      name,
    });
    this.holder.start({
      onChange: () => this.changes.push(this.holder.isAlive),
      onLost: () => {
        this.lost += 1;
      },
      onTakeover: () => {},
    });
  }
}

async function pass(seconds: number, ...processes: Process[]): Promise<void> {
  for (let tenths = 0; tenths < seconds * 10; tenths++) {
    for (const process of processes) {
      process.stopwatchMs += 100;
      if (!process.isSuspended) process.clock.advance(100);
    }
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  }
}

test('the leases of a process that ends are taken over within five seconds', async () => {
  const table = new SharedTable();
  const [dead, other] = [new Process(table, 'dead'), new Process(table, 'other')];
  await pass(10, dead, other);
  expect([dead.holder.isAlive, other.holder.isAlive, table.takenOver]).toEqual([true, true, []]);
  await pass(2.9, other);
  expect(table.takenOver).toEqual([]);
  await pass(2, other);
  expect(table.takenOver).toEqual(['dead']);
  expect([...table.holders.values()].map(({ name }) => name)).toEqual(['other']);
});

test('a lapse between two heartbeats is announced when it is over', async () => {
  const table = new SharedTable();
  const process = new Process(table, 'short of time');
  await pass(2, process);
  expect(process.changes).toEqual([true]);
  process.isSuspended = true;
  await pass(3.5, process);
  // What finds the holder lapsed now waits for the change.
  expect(process.holder.isAlive).toBe(false);
  process.isSuspended = false;
  await pass(1, process);
  expect(process.changes).toEqual([true, true]);
});

test('a process that stops is forgotten at once, and taken over if it kept leases', async () => {
  const table = new SharedTable();
  const [first, second, other] = ['first', 'second', 'other'].map(
    (name) => new Process(table, name),
  ) as [Process, Process, Process];
  await pass(2, first, second, other);
  await first.holder.stop(true);
  await second.holder.stop(false);
  expect([...table.holders.values()].map(({ name }) => name)).toEqual(['second', 'other']);
  await pass(6, other);
  expect(table.takenOver).toEqual(['second']);
});

test('a suspended process stops before the others take over, and returns as another holder', async () => {
  const table = new SharedTable();
  const [frozen, other] = [new Process(table, 'frozen'), new Process(table, 'other')];
  await pass(3, frozen, other);
  const lease = newLeaseToken(frozen.holder.id);
  expect(frozen.holder.holds(lease)).toBe(true);
  frozen.isSuspended = true;
  await pass(3, frozen, other);
  expect([frozen.holder.holds(lease), table.takenOver]).toEqual([false, []]);
  await pass(7, frozen, other);
  expect(table.takenOver).toEqual(['frozen']);
  frozen.isSuspended = false;
  expect(frozen.holder.isAlive).toBe(false);
  await pass(3, frozen, other);
  expect(frozen.lost).toBe(1);
  expect(frozen.holder.isAlive).toBe(true);
  // It is alive again, but not with the leases that it lost.
  expect([frozen.holder.issued(lease), frozen.holder.holds(lease)]).toEqual([false, false]);
  expect(frozen.changes).toEqual([true, false, true]);
  await pass(20, frozen, other);
  expect(table.takenOver).toEqual(['frozen']);
});

test('a machine that sleeps, which stops the stopwatch, is not alive when it wakes up', async () => {
  const table = new SharedTable();
  const sleeper = new Process(table, 'sleeper');
  await pass(2, sleeper);
  const { stopwatchMs } = sleeper;
  table.isDown = true;
  sleeper.clock.advance(60_000);
  expect(sleeper.stopwatchMs).toBe(stopwatchMs);
  expect(sleeper.holder.isAlive).toBe(false);
});

test('a process that alone is cut off from the database stops before the others take over', async () => {
  const table = new SharedTable();
  const [alone, other] = [new Process(table, 'alone'), new Process(table, 'other')];
  await pass(3, alone, other);
  alone.isCutOff = true;
  for (let tenths = 0; tenths < 80; tenths++) {
    await pass(0.1, alone, other);
    expect(alone.holder.isAlive && table.takenOver.length > 0).toBe(false);
  }
  expect(table.takenOver).toEqual(['alone']);
  expect(other.holder.isAlive).toBe(true);
});

test('after an outage of the database, processes that reconnect late keep their leases', async () => {
  const table = new SharedTable();
  const [late, other] = [new Process(table, 'late'), new Process(table, 'other')];
  await pass(3, late, other);
  const { id } = late.holder;
  table.isDown = true;
  await pass(30, late, other);
  expect([late.holder.isAlive, other.holder.isAlive]).toEqual([false, false]);
  late.isCutOff = true;
  table.isDown = false;
  await pass(8, late, other);
  expect([other.holder.isAlive, table.takenOver]).toEqual([true, []]);
  late.isCutOff = false;
  await pass(2, late, other);
  expect([late.holder.id, late.holder.isAlive, late.lost]).toEqual([id, true, 0]);
  // From its first heartbeat on, it is as dead as any other when it falls silent.
  await pass(6, other);
  expect(table.takenOver).toEqual(['late']);
});

test('after an outage, a process that does not come back is taken over', async () => {
  const table = new SharedTable();
  const [dead, other] = [new Process(table, 'dead'), new Process(table, 'other')];
  await pass(3, dead, other);
  table.isDown = true;
  await pass(5, other);
  table.isDown = false;
  await pass(16, other);
  expect(table.takenOver).toEqual(['dead']);
});
