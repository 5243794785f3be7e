import { randomInt } from 'node:crypto';
import { assert } from '../lib/assert.ts';

/**
 * A lease is a number on a row of a queue and the time until which it holds. The number begins with
 * its holder (lease-holder.ts), so that all leases of a dead holder are one range; the rest is random.
 * A result is written only while the row still carries the writer's own number.
 */
export interface LeaseTerms {
  nowMs: number;
  lease: number;
  leaseEndsAtMs: number;
}

export function newLease(holderId: number, nowMs: number, leaseMs: number): LeaseTerms {
  return { nowMs, lease: newLeaseToken(holderId), leaseEndsAtMs: nowMs + leaseMs };
}

/** With the random part and the counter, 53 bits: what a JavaScript number holds. */
export const HOLDER_ID_MAX = 2 ** 24 - 1;
const RANDOM_SIZE = 2 ** 26;

/** The last three bits are zero: a queue may count failed holders in them. */
const COUNTER_SIZE = 8;

export function newLeaseToken(holderId: number): number {
  return (holderId * RANDOM_SIZE + randomInt(RANDOM_SIZE)) * COUNTER_SIZE;
}

export function holderOf(lease: number): number {
  return Math.floor(lease / (RANDOM_SIZE * COUNTER_SIZE));
}

/** The tokens of all leases of a holder. */
export function leaseTokensOf(holderId: number): { first: number; last: number } {
  const size = RANDOM_SIZE * COUNTER_SIZE;
  return { first: holderId * size, last: (holderId + 1) * size - 1 };
}

/** An item of a queue while this node holds its lease. */
export interface LeasedItem {
  lease: number;
  leaseEndsAtMs: number;
  /** Changed by `enterState` only. */
  state: ItemState;
}

/**
 * - `leased`: held, but not queued yet. → ready, recording, dropped
 * - `ready`: in the ready queue. → preparing, sending, recording, dropped
 * - `preparing`: taken from the ready queue, and what it needs is being read. → sending, recording,
 *   dropped
 * - `sending`: on its way; from here on it cannot be withdrawn. → recording, dropped, or ready when
 *   its receiver turned out to have no capacity
 * - `recording`: its result is being written. → dropped
 * - `dropped`: no longer held by this node.
 */
export type ItemState = 'leased' | 'ready' | 'preparing' | 'sending' | 'recording' | 'dropped';

const TRANSITIONS: Record<ItemState, readonly ItemState[]> = {
  leased: ['ready', 'recording', 'dropped'],
  ready: ['preparing', 'sending', 'recording', 'dropped'],
  preparing: ['sending', 'recording', 'dropped'],
  sending: ['ready', 'recording', 'dropped'],
  recording: ['dropped'],
  dropped: [],
};

export function enterState(item: LeasedItem, state: ItemState): void {
  assert(TRANSITIONS[item.state].includes(state), `item went from ${item.state} to ${state}`);
  item.state = state;
}
