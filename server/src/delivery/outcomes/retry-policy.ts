import type { Mode } from '../../accounts/tenant-scope.ts';

/**
 * When a delivery is attempted again, and when it is given up. The delay equals the age of the
 * delivery cycle within bounds: one minute, then roughly doubling, up to a few hours. It needs no
 * counter, and after an outage of ours the schedule does not assume that the receiver was tried
 * throughout.
 */
export interface Backoff {
  minMs: number;
  maxMs: number;
}

/** Simulated delays are seconds. A recipient that defers forever slows down like real mail. */
const SIMULATED_MIN_MS = 1_000;
const SIMULATED_QUICK_ATTEMPTS = 10;

/** `random` in [0, 1) spreads messages that failed together over ±20%. */
export function nextAttemptDelayMs(
  delivery: { mode: Mode; cycleAgeMs: number; attempts: number },
  backoff: Backoff,
  random: number,
): number {
  if (delivery.mode === 'test' && delivery.attempts < SIMULATED_QUICK_ATTEMPTS) {
    return Math.round(SIMULATED_MIN_MS * (1 + random));
  }
  const delayMs = Math.min(Math.max(delivery.cycleAgeMs, backoff.minMs), backoff.maxMs);
  return Math.round(delayMs * (0.8 + 0.4 * random));
}

/**
 * When a delivery ends without another attempt. After its ttl a message is worthless to the sender.
 * The retry window is different: a delivery past it gets one last attempt, so that mail that was held
 * up by a stopped server or a wrong clock is not given up untried.
 */
export function giveUpAtMs(expiresAtMs: number, hasTtl: boolean, leasedAtMs: number): number {
  return hasTtl ? expiresAtMs : Math.max(expiresAtMs, leasedAtMs) + LAST_ATTEMPT_WAIT_MAX_MS;
}

/** How long the last attempt may wait for capacity at its receiver. */
const LAST_ATTEMPT_WAIT_MAX_MS = 60 * 60_000;
