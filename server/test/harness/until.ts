import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { ManualClock } from '../../src/lib/manual-clock.ts';

/** Only a failure takes this long. */
const TIMEOUT_MS = 60_000;

/**
 * Waits until the check returns true. A manual clock advances by `stepMs` between checks, so that
 * minutes pass quickly while real sockets and the real database do their work.
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
  const endsAt = systemClock.now() + (options.timeoutMs ?? TIMEOUT_MS);
  while (!(await check())) {
    if (systemClock.now() > endsAt)
      throw new Error(`Timed out waiting for: ${describe(options.what) ?? check}`);
    await sleep(5);
    if (options.clock instanceof ManualClock) options.clock.advance(options.stepMs ?? 100);
  }
}

function describe(what: string | (() => string) | undefined): string | undefined {
  return typeof what === 'function' ? what() : what;
}
