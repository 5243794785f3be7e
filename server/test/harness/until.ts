import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/lib/time/clock.ts';
import { ManualClock } from '../../src/lib/time/manual-clock.ts';

/** Only a failure takes this long. */
const TIMEOUT_MS = 60_000;

const POLL_MS = 5;
const POLL_MS_MAX = 25;

/**
 * Waits until the check returns true. A manual clock advances by `stepMs` between checks, so that
 * minutes pass quickly while real sockets and the real database do their work. Without one, a long wait
 * checks less often: many checks are requests, whose CPU time others need.
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
  const { clock } = options;
  const startedAt = systemClock.now();
  while (!(await check())) {
    const waitedMs = systemClock.now() - startedAt;
    if (waitedMs > (options.timeoutMs ?? TIMEOUT_MS))
      throw new Error(`Timed out waiting for: ${describe(options.what) ?? check}`);
    if (clock instanceof ManualClock) {
      await sleep(POLL_MS);
      clock.advance(options.stepMs ?? 100);
    } else await sleep(Math.min(Math.max(waitedMs / 10, POLL_MS), POLL_MS_MAX));
  }
}

function describe(what: string | (() => string) | undefined): string | undefined {
  return typeof what === 'function' ? what() : what;
}
