import { expect, test } from 'vitest';
import type { Clock, Timer } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { ManualClock } from '../base/manual-clock.ts';
import { ClaimLoop } from './claim-loop.ts';

/** Like the real one: its timers fire up to a millisecond before their time by the wall clock. */
class HastyClock implements Clock {
  readonly #inner = new ManualClock(1_000_000);

  now(): number {
    return this.#inner.now();
  }

  after(delayMs: number, task: () => void): Timer {
    return this.#inner.after(Math.max(0, delayMs - 1), task);
  }

  /** Lets time pass in small steps, with room for what each of them sets off. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1) {
      this.#inner.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

test('goes on looking after storage was gone, also when a timer is early', async () => {
  const clock = new HastyClock();
  let gone = true;
  let claims = 0;
  const loop = new ClaimLoop({
    clock,
    log: silentLog,
    claim: async () => {
      if (gone) throw new Error('Connection terminated');
      claims += 1;
      return { rows: [], cursor: undefined };
    },
    findRange: async () => ({ oldest: '', newest: '' }),
    room: () => ({ rowsMax: 10, skipWorkspaces: [] }),
    admit: () => {},
    leaseMs: 10_000,
    windowMs: 10_000,
    pollMs: 500,
  });
  loop.start();
  await clock.pass(1_500);
  expect(claims).toBe(0);
  gone = false;
  await clock.pass(10_000);
  expect(claims).toBeGreaterThan(10);
  await loop.stop();
});
