import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { WorkspacePurgesRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';

/** The deletion of a workspace, from the start of its purge. */
export interface WorkspacePurge {
  /** Of the workspace. */
  id: string;
  requestedAtMs: number;
  startedAtMs: number;
  finishedAtMs: number | null;
  /** By table. */
  deletedRows: Record<string, number>;
}

const COLUMNS = selectList<WorkspacePurgesRow, WorkspacePurge>({
  id: 'id',
  requestedAtMs: 'requested_at',
  startedAtMs: 'started_at',
  finishedAtMs: 'finished_at',
  deletedRows: 'deleted_rows',
});

export async function insertPurge(
  db: Queryable,
  { id, requestedAtMs }: Pick<WorkspacePurge, 'id' | 'requestedAtMs'>,
  nowMs: number,
): Promise<void> {
  await db.query(
    `insert into workspace_purges (id, requested_at, started_at, pass_due_at)
     values ($1, $2, $3, $3)
     -- A workspace that moved away, came back and leaves again.
     on conflict (id) do update set requested_at = excluded.requested_at,
       started_at = excluded.started_at, pass_due_at = excluded.pass_due_at, deleted_rows = '{}',
       finished_at = null
     where workspace_purges.finished_at is not null`,
    [id, sqlTime(requestedAtMs), sqlTime(nowMs)],
  );
}

/** Unfinished purges whose next pass is due. */
export async function listDuePurges(
  db: Queryable,
  nowMs: number,
  limit: number,
): Promise<WorkspacePurge[]> {
  const { rows } = await db.query<WorkspacePurge>(
    `select ${COLUMNS} from workspace_purges where finished_at is null and pass_due_at <= $1
     order by pass_due_at limit $2`,
    [sqlTime(nowMs), limit],
  );
  return rows;
}

/** Newest first. */
export async function listPurges(db: Queryable, limit: number): Promise<WorkspacePurge[]> {
  const { rows } = await db.query<WorkspacePurge>(
    `select ${COLUMNS} from workspace_purges order by started_at desc, id limit $1`,
    [limit],
  );
  return rows;
}

/**
 * Leases the purge to this transaction: it ends with the commit or with the connection, so the work of
 * a node that died is taken over at once. Undefined when another node has it, or when it is finished.
 */
export async function lockPurge(db: Queryable, id: string): Promise<WorkspacePurge | undefined> {
  const { rows } = await db.query<WorkspacePurge>(
    `select ${COLUMNS} from workspace_purges where id = $1 and finished_at is null
     for update skip locked`,
    [id],
  );
  return rows[0];
}

/** Committed with the deletion of the rows, so that the counts are exact even after a crash. */
export async function addDeletedRows(
  db: Queryable,
  id: string,
  deleted: Readonly<Record<string, number>>,
): Promise<void> {
  for (const [table, rows] of Object.entries(deleted)) {
    await db.query(
      `update workspace_purges set deleted_rows = deleted_rows
         || jsonb_build_object($2::text, coalesce((deleted_rows ->> $2)::bigint, 0) + $3)
       where id = $1`,
      [id, table, rows],
    );
  }
}

export async function schedulePass(db: Queryable, id: string, dueAtMs: number): Promise<void> {
  await db.query('update workspace_purges set pass_due_at = $2 where id = $1', [
    id,
    sqlTime(dueAtMs),
  ]);
}

export async function finishPurge(db: Queryable, id: string, nowMs: number): Promise<void> {
  await db.query('update workspace_purges set finished_at = $2 where id = $1', [
    id,
    sqlTime(nowMs),
  ]);
}
