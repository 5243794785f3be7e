import { expect, test } from 'vitest';
import { silentLog } from '../lib/log.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { ClaimLoop, type ClaimLoopParts } from './claim-loop.ts';
import type { FoundQueue } from './due-queues.ts';

/** Timers fire up to a millisecond early by the wall clock, as real ones do. */
class HastyClock implements Clock {
  readonly #inner = new ManualClock(1_000_000);

  now(): number {
    return this.#inner.now();
  }

  after(delayMs: number, task: () => void): Timer {
    return this.#inner.after(Math.max(0, delayMs - 1), task);
  }

  /** Moves the clock without letting anything else run. */
  jump(ms: number): void {
    this.#inner.advance(ms);
  }

  /** Lets time pass in small steps and runs what each step triggers. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1) {
      this.#inner.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Each queue has a name, and a row is the name of its queue. */
interface NamedQueue {
  name: string;
}

function loopWith(
  clock: Clock,
  parts: Partial<ClaimLoopParts<NamedQueue, string>>,
): ClaimLoop<NamedQueue, string> {
  return new ClaimLoop({
    what: 'rows',
    clock,
    stopwatchMs: () => clock.now(),
    log: silentLog,
    scan: async () => [],
    claim: async () => [],
    queueId: ({ name }) => name,
    queueIdOfRow: (row) => row,
    probe: async () => {},
    capacity: () => ({ rowsMax: 10, perQueue: () => 10 }),
    admit: () => {},
    holderId: () => 1,
    leaseMs: 10_000,
    pollMs: 500,
    pollRestMs: 500,
    ...parts,
  });
}

test('keeps claiming after a database outage, even when a timer fires early', async () => {
  const clock = new HastyClock();
  let down = true;
  let scans = 0;
  const respond = async <T>(found: T): Promise<T> => {
    if (down) throw new Error('Connection terminated');
    return found;
  };
  const loop = loopWith(clock, {
    probe: () => respond(undefined),
    scan: () => {
      scans += down ? 0 : 1;
      return respond([]);
    },
  });
  loop.start();
  await clock.pass(1_500);
  expect(scans).toBe(0);
  down = false;
  await clock.pass(10_000);
  expect(scans).toBeGreaterThan(10);
  await loop.stop();
});

test('claims a row on time when it becomes due between two scans', async () => {
  const clock = new HastyClock();
  const dueAtMs = clock.now() + 1_210;
  const claimedAt: number[] = [];
  const loop = loopWith(clock, {
    scan: async () => [{ name: 'w', dueAtMs }],
    claim: async () => {
      claimedAt.push(clock.now() - dueAtMs);
      return [];
    },
  });
  loop.start();
  await clock.pass(1_300);
  expect(claimedAt[0]).toBeLessThan(3);
  expect(claimedAt).toHaveLength(1);
  await loop.stop();
});

test('scans less often the longer a scan takes, and claims from the last scan in between', async () => {
  const clock = new HastyClock();
  let scans = 0;
  let claims = 0;
  let open = true;
  let given = 10;
  const queue = { name: 'w', dueAtMs: clock.now() };
  const loop = loopWith(clock, {
    scan: async () => {
      scans += 1;
      clock.jump(400);
      return [queue];
    },
    claim: async () => {
      claims += 1;
      open = false;
      return Array.from({ length: given }, () => 'w');
    },
    capacity: () => ({ rowsMax: open ? 10 : 0, perQueue: () => 10 }),
  });
  loop.start();
  await clock.pass(1);
  expect([scans, claims]).toEqual([1, 1]);
  for (let n = 0; n < 30; n++) {
    open = true;
    loop.notifyDue();
    await clock.pass(50);
  }
  expect([scans, claims]).toEqual([1, 31]);
  given = 0;
  open = true;
  loop.notifyDue();
  await clock.pass(90);
  expect([scans, claims]).toEqual([1, 32]);
  open = true;
  await clock.pass(90);
  expect([scans, claims]).toEqual([2, 33]);
  await loop.stop();
});

test('a clock set back by an hour does not delay the next scan', async () => {
  const clock = new ManualClock(10_000_000);
  let scans = 0;
  const loop = loopWith(clock, {
    scan: async () => {
      scans += 1;
      return [];
    },
  });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  loop.start();
  await pass(1_000);
  clock.setBack(3_600_000);
  const before = scans;
  await pass(2_000);
  expect(scans - before).toBeGreaterThan(2);
  await loop.stop();
});

/** A loop that may rest, with the times of its scans and the rows that they find. */
function restingLoop() {
  const clock = new HastyClock();
  const startMs = clock.now();
  const scans: number[] = [];
  const found: FoundQueue<NamedQueue>[] = [];
  const during = { scan: () => {} };
  const loop = loopWith(clock, {
    pollRestMs: 5_000,
    scan: async () => {
      scans.push(Math.round((clock.now() - startMs) / 100) / 10);
      during.scan();
      return found;
    },
  });
  loop.start();
  return { clock, loop, scans, found, during };
}

test('scans become rare while there are no rows, and stay frequent while there are', async () => {
  const { clock, loop, scans, found } = restingLoop();
  await clock.pass(20_000);
  expect(scans).toEqual([0, 1, 3, 7, 12, 17]);
  found.push({ name: 'w', dueAtMs: clock.now() + 3_600_000 });
  scans.length = 0;
  await clock.pass(3_600);
  expect(scans).toEqual([22, 22.5, 23, 23.5]);
  await loop.stop();
});

test('rows that are expected end the rest', async () => {
  const { clock, loop, scans } = restingLoop();
  await clock.pass(13_000);
  scans.length = 0;
  loop.expectRows();
  loop.expectRows();
  await clock.pass(3_100);
  // The last scan was a second ago.
  expect(scans).toEqual([13, 14, 16]);
  await loop.stop();
});

test('rows that are expected during a scan, which may not see them, end the rest after it', async () => {
  const { clock, loop, scans, during } = restingLoop();
  await clock.pass(11_900);
  scans.length = 0;
  during.scan = () => {
    loop.expectRows();
    during.scan = () => {};
  };
  await clock.pass(700);
  expect(scans).toEqual([12, 12.5]);
  await loop.stop();
});
