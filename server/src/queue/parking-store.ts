import type { Queryable } from '../db/pool.ts';
import type { LeasedTable } from './lease-store.ts';

/**
 * Parks the waiting rows of a workspace that moves to another database: they are due in a thousand years
 * and thus never claimed. Exact, so that a parked row can be put back as it was.
 */
const PARKED_FOR = `interval '365000 days'`;
const PARKED_FROM = `timestamptz '2900-01-01 00:00:00Z'`;

/** Ends leases, so that a result of a process that still runs would be discarded. */
export async function parkRows(
  db: Queryable,
  { update, unfinished }: LeasedTable<never>,
  workspaceId: string,
): Promise<void> {
  await db.query(
    `${update} due_at = d.due_at + ${PARKED_FOR}, lease = null
      where d.workspace_id = $1 and ${unfinished} and d.due_at < ${PARKED_FROM}`,
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
