/**
 * When a delivery ends though nobody tried it again. A ttl is the sender's word that it is worthless
 * from then on. The retry window is none: what is past it is tried a last time, so that mail which lay
 * still with a server that was off, or whose clock is wrong, is not given up unseen.
 */
export function givenUpAtMs(expiresAtMs: number, hasTtl: boolean, takenAtMs: number): number {
  return hasTtl ? expiresAtMs : Math.max(expiresAtMs, takenAtMs) + TURN_MAX_MS;
}

/** How long the last try may wait for its turn at a receiver. */
const TURN_MAX_MS = 60 * 60_000;
