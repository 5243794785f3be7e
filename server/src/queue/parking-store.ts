import type { Queryable } from '../db/connections/pool.ts';
import type { LeasedTable } from './lease-store.ts';

/**
 * Parks the waiting rows of a workspace that moves to another database: they are due in a thousand years
 * and thus never claimed. Exact, so that a parked row can be put back as it was.
 */
export const PARKED_FOR = `interval '365000 days'`;
export const PARKED_FROM = `timestamptz '2900-01-01 00:00:00Z'`;

/**
 * A lease that has ended longer ago than this is of a process that is gone. By the clock of the database,
 * which is that of the nodes; the clock of the process that moves the workspace may differ.
 */
const IS_FREE = `(d.lease is null or d.due_at < clock_timestamp() - interval '5 seconds')`;

/**
 * Leased rows are left to their holders. With `evenLeased`, for when no server is running, leases end, so
 * that the result of a process that should still run is discarded.
 */
export async function parkRows(
  db: Queryable,
  { update, unfinished }: LeasedTable<never>,
  workspaceId: string,
  { evenLeased }: { evenLeased: boolean },
): Promise<void> {
  await db.query(
    `${update} due_at = d.due_at + ${PARKED_FOR}, lease = null
      where d.workspace_id = $1 and ${unfinished} and d.due_at < ${PARKED_FROM}
        and (${evenLeased} or ${IS_FREE})`,
    [workspaceId],
  );
}

export async function unparkRows(
  db: Queryable,
  { update, unfinished }: LeasedTable<never>,
  workspaceId: string,
): Promise<void> {
  await db.query(
    `${update} due_at = d.due_at - ${PARKED_FOR}
      where d.workspace_id = $1 and ${unfinished} and d.due_at >= ${PARKED_FROM}`,
    [workspaceId],
  );
}

/** Whether a row waits or is leased that is not parked. */
export async function anyUnparked(
  db: Queryable,
  table: string,
  { unfinished }: LeasedTable<never>,
  workspaceId: string,
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (select from ${table} d where d.workspace_id = $1 and ${unfinished}
                       and d.due_at < ${PARKED_FROM}) as found`,
    [workspaceId],
  );
  return rows[0]?.found ?? false;
}

/** Whether a lease holds on a row whose key column, a UUIDv7, is older than the given one. */
export async function anyLeasedBefore(
  db: Queryable,
  table: string,
  { unfinished }: LeasedTable<never>,
  workspaceId: string,
  { column, before }: { column: string; before: string },
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (select from ${table} d where d.workspace_id = $1 and ${unfinished}
                       and d.due_at < ${PARKED_FROM} and not ${IS_FREE} and d.${column} < $2) as found`,
    [workspaceId, before],
  );
  return rows[0]?.found ?? false;
}
