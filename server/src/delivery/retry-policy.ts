import type { Mode } from '../accounts/tenant-scope.ts';

/**
 * When to try again. The wait is as long as the run has lasted so far, within bounds: one minute,
 * then about doubling, to a few hours. It needs no counter, and after a stop of ours it does not
 * pretend that the receiver was asked all the time.
 */
export interface Backoff {
  minMs: number;
  maxMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { minMs: 60_000, maxMs: 4 * 3_600_000 };

/** Simulated waits are seconds. A part that defers for ever slows down like real mail in the end. */
const SIMULATED_MIN_MS = 1_000;
const SIMULATED_QUICK_ATTEMPTS = 10;

/** `random` in [0, 1) spreads the tries of messages that failed together over ±20 %. */
export function nextAttemptDelayMs(
  delivery: { mode: Mode; cycleAgeMs: number; attempts: number },
  backoff: Backoff,
  random: number,
): number {
  if (delivery.mode === 'test' && delivery.attempts < SIMULATED_QUICK_ATTEMPTS) {
    return Math.round(SIMULATED_MIN_MS * (1 + random));
  }
  const wait = Math.min(Math.max(delivery.cycleAgeMs, backoff.minMs), backoff.maxMs);
  return Math.round(wait * (0.8 + 0.4 * random));
}
