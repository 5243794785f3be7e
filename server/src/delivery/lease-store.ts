import type { Pool } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import type { Delivery } from './delivery.ts';

/** Keeping leases and giving them back; how they are won stands in claim-store.ts. */

/** Prolongs leases; answers with the positions of those that are still ours. */
export function renewLeases(
  pool: Pool,
  held: readonly Delivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(pool, 'delivery-renew', `due_at = $2::timestamptz`, held, endsAtMs);
}

/** Gives rows back, so that any node may go on with them when they are due. */
export function releaseLeases(
  pool: Pool,
  held: readonly Delivery[],
  dueAtMs: number,
): Promise<number[]> {
  return updateLeased(
    pool,
    'delivery-release',
    `due_at = $2::timestamptz, lease = null`,
    held,
    dueAtMs,
  );
}

/** Counts a try of rows that have lost a lease before; answers with those still ours. */
export function countSuspects(
  pool: Pool,
  held: readonly Delivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(
    pool,
    'delivery-suspect',
    `due_at = $2::timestamptz, lease = d.lease + 1`,
    held,
    endsAtMs,
  );
}

async function updateLeased(
  pool: Pool,
  name: string,
  change: string,
  held: readonly Delivery[],
  timeMs: number,
): Promise<number[]> {
  if (held.length === 0) return [];
  const keys = held.map((delivery, n) => ({
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
