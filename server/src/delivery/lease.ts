import { randomBytes } from 'node:crypto';

/**
 * A lease is a random number on the row: whoever writes a result must still find his own there. Its
 * last three bits count bad luck, so that a message which kills its worker cannot do so for ever.
 * Zero: nothing is known against it. When a lease runs out unreturned, the next holder gets 1 and
 * is careful: it counts up just before each try. Only what was really being tried comes under
 * suspicion, not the thousands that merely waited in the list of a node that died.
 */
const COUNTER_SIZE = 8;
/** First lost in anybody's hands, then five tries that never ended. */
const COUNTER_MAX = 6;

/** A fresh lease, its count at zero: 50 random bits, because a JavaScript number holds 53. */
export function newLeaseToken(): number {
  const bytes = randomBytes(8);
  return (bytes.readUIntBE(0, 6) * 4 + (bytes.readUInt8(6) & 3)) * COUNTER_SIZE;
}

export function isSuspect(lease: number): boolean {
  return lease % COUNTER_SIZE > 0;
}

export function isPoison(lease: number): boolean {
  return lease % COUNTER_SIZE >= COUNTER_MAX;
}
