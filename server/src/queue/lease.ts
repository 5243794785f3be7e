import { randomBytes } from 'node:crypto';
import { assert } from '../lib/assert.ts';

/**
 * A lease is a random number on a row of a queue and the time until which it holds. A result is
 * written only while the row still carries the writer's own number.
 */
export interface LeaseTerms {
  nowMs: number;
  lease: number;
  leaseEndsAtMs: number;
}

export function newLease(nowMs: number, leaseMs: number): LeaseTerms {
  return { nowMs, lease: newLeaseToken(), leaseEndsAtMs: nowMs + leaseMs };
}

/** The last three bits are zero: a queue may count failed holders in them. */
const COUNTER_SIZE = 8;

/** 50 random bits, because a JavaScript number holds 53. */
export function newLeaseToken(): number {
  const bytes = randomBytes(8);
  return (bytes.readUIntBE(0, 6) * 4 + (bytes.readUInt8(6) & 3)) * COUNTER_SIZE;
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
