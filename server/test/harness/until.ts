import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { ManualClock } from '../../src/lib/manual-clock.ts';

/**
 * Waits until the check holds. A manual clock is moved on by `stepMs` between looks, so that waits
 * of minutes pass at once while real sockets and the real database do their part.
 */
export async function until(
  check: () => Promise<boolean> | boolean,
  options: {
    clock?: Clock;
    stepMs?: number;
    timeoutMs?: number;
    what?: string | (() => string);
  } = {},
): Promise<void> {
  const endsAt = systemClock.now() + (options.timeoutMs ?? 20_000);
  while (!(await check())) {
    if (systemClock.now() > endsAt)
      throw new Error(`Not so in time: ${describe(options.what) ?? check}`);
    await sleep(5);
    if (options.clock instanceof ManualClock) options.clock.advance(options.stepMs ?? 100);
  }
}

function describe(what: string | (() => string) | undefined): string | undefined {
  return typeof what === 'function' ? what() : what;
}
