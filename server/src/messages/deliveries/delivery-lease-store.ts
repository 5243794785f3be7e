import type { Mode } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { type LeasedTable, updateLeased } from '../../queue/lease-store.ts';

/** A delivery and the lease that this node has on it. */
export interface LeasedDelivery {
  readonly message: { readonly workspaceId: string; readonly mode: Mode; readonly id: string };
  readonly ordinal: number;
  readonly lease: number;
}

/**
 * Deliveries as a leased queue, and the detection of poison messages.
 *
 * The last three bits of a lease count failed holders, so that a poison message cannot crash its
 * worker forever. Zero is the normal case. When a lease expires without being released, the next
 * holder starts at 1 and increments the counter just before each attempt. Thus only deliveries that
 * were actually being attempted become suspect, not the thousands that merely waited in the memory of
 * a node that died.
 */
export const DELIVERIES: LeasedTable<LeasedDelivery> = {
  name: 'deliveries',
  update: 'update deliveries d set',
  key: ['workspace_id uuid', 'mode mode', 'message_id uuid', 'ordinal smallint'],
  keyOf: ({ message, ordinal }) => [message.workspaceId, message.mode, message.id, ordinal],
  unfinished: `status in ('scheduled', 'queued', 'deferred')`,
};

const COUNTER_SIZE = 8;
/** One loss by any holder, then five attempts that never ended. */
const COUNTER_MAX = 6;

export function isSuspect(lease: number): boolean {
  return lease % COUNTER_SIZE > 0;
}

export function isPoison(lease: number): boolean {
  return lease % COUNTER_SIZE >= COUNTER_MAX;
}

/** Counts an attempt of suspect rows; returns the indexes of those that this node still holds. */
export function countSuspects(
  pool: Pool,
  deliveries: readonly LeasedDelivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(pool, DELIVERIES, 'suspect', ', lease = d.lease + 1', deliveries, endsAtMs);
}
