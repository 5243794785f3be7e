import { randomBytes } from 'node:crypto';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../../db/pool.ts';
import { sqlTime } from '../../db/row-types.ts';

/**
 * Lease tokens, and the statements that renew and release leases; claim-store.ts acquires them.
 *
 * A lease is a random number on the row, and an outcome is written only while the row still carries
 * the writer's own. Its last three bits count failed holders, so that a poison message cannot crash
 * its worker forever. Zero is the normal case. When a lease expires without being released, the next
 * holder starts at 1 and increments the counter just before each attempt. Thus only deliveries that
 * were actually being attempted become suspect, not the thousands that merely waited in the memory of
 * a node that died.
 */
const COUNTER_SIZE = 8;
/** One loss by any holder, then five attempts that never ended. */
const COUNTER_MAX = 6;
/** The largest LEASE_SECONDS. */
const LEASE_MAX_MS = 3_600_000;

/** A delivery and the lease that this node has on it. */
export interface LeasedDelivery {
  readonly message: { readonly workspaceId: string; readonly mode: Mode; readonly id: string };
  readonly ordinal: number;
  readonly lease: number;
}

/** A new lease with its counter at zero: 50 random bits, because a JavaScript number holds 53. */
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

/** Extends leases; returns the indexes of those that this node still holds. */
export function renewLeases(
  pool: Pool,
  deliveries: readonly LeasedDelivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(pool, 'delivery-renew', `due_at = $2::timestamptz`, deliveries, endsAtMs);
}

/** Releases leases, so that any node can claim the rows when they are due. */
export function releaseLeases(
  pool: Pool,
  deliveries: readonly LeasedDelivery[],
  dueAtMs: number,
): Promise<number[]> {
  return updateLeased(
    pool,
    'delivery-release',
    `due_at = $2::timestamptz, lease = null`,
    deliveries,
    dueAtMs,
  );
}

/**
 * Ends all leases; returns how many. For a start that finds no other node: their holders are dead. The
 * rows keep their tokens, so that the next holder counts the loss. Without sequential scans, only the
 * queue is read and not the history.
 */
export async function expireLeases(pool: Pool, nowMs: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query('set local enable_seqscan = off');
    const { rowCount } = await client.query(
      `update deliveries set due_at = $1::timestamptz
        where status in ('scheduled', 'queued', 'deferred') and lease is not null
          and due_at > $1::timestamptz and due_at <= $2::timestamptz`,
      [sqlTime(nowMs), sqlTime(nowMs + LEASE_MAX_MS)],
    );
    return rowCount ?? 0;
  });
}

/** Counts an attempt of suspect rows; returns the indexes of those that this node still holds. */
export function countSuspects(
  pool: Pool,
  deliveries: readonly LeasedDelivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(
    pool,
    'delivery-suspect',
    `due_at = $2::timestamptz, lease = d.lease + 1`,
    deliveries,
    endsAtMs,
  );
}

async function updateLeased(
  pool: Pool,
  name: string,
  change: string,
  deliveries: readonly LeasedDelivery[],
  timeMs: number,
): Promise<number[]> {
  if (deliveries.length === 0) return [];
  const keys = deliveries.map((delivery, n) => ({
    n,
    w: delivery.message.workspaceId,
    m: delivery.message.mode,
    id: delivery.message.id,
    o: delivery.ordinal,
    l: delivery.lease,
  }));
  const { rows } = await pool.query<{ n: number }>({
    name,
    text: `update deliveries d set ${change}
        from json_to_recordset($1::json) as r(n int, w uuid, m mode, id uuid, o smallint, l bigint)
       where d.workspace_id = r.w and d.mode = r.m and d.message_id = r.id and d.ordinal = r.o
         and d.lease = r.l
   returning r.n`,
    values: [JSON.stringify(keys), sqlTime(timeMs)],
  });
  return rows.map((row) => row.n);
}
