/**
 * When a delivery ends though nobody tried it again. A ttl is the sender's word that it is worthless
 * from then on. The retry window is none: what is past it is tried a last time, so that mail which lay
 * still with a server that was off, or whose clock is wrong, is not given up unseen.
 */
export function giveUpAtMs(expiresAtMs: number, hasTtl: boolean, leasedAtMs: number): number {
  return hasTtl ? expiresAtMs : Math.max(expiresAtMs, leasedAtMs) + LAST_ATTEMPT_WAIT_MAX_MS;
}

/** How long the last try may wait for its turn at a receiver. */
const LAST_ATTEMPT_WAIT_MAX_MS = 60 * 60_000;
