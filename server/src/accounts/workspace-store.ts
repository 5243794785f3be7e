import { channel, workspaceChanged } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { WorkspacesRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { containsTerms, type SearchedPage, searchPatterns } from '../db/statements/text-search.ts';
import { HELD_FOR, MOVING_HOLD } from './held-mail-source.ts';
import type { Deletion, Suspension, Workspace } from './workspace.ts';

interface Row extends Omit<Workspace, 'suspension' | 'deletion'>, StateColumns {}

/** The state of a workspace as columns. */
export interface StateColumns {
  suspendedAtMs: number | null;
  suspendedFor: string | null;
  deletionRequestedAtMs: number | null;
  deleteAtMs: number | null;
}

export const STATE_COLUMNS = {
  suspendedAtMs: 'suspended_at',
  suspendedFor: 'suspension_reason',
  deletionRequestedAtMs: 'deletion_requested_at',
  deleteAtMs: 'delete_at',
} as const;

const COLUMNS = selectList<WorkspacesRow, Row>({
  id: 'id',
  name: 'name',
  createdAtMs: 'created_at',
  ...STATE_COLUMNS,
});

export function toState<T extends StateColumns>({
  suspendedAtMs,
  suspendedFor,
  deletionRequestedAtMs,
  deleteAtMs,
  ...others
}: T) {
  const suspension: Suspension | null =
    suspendedAtMs === null || suspendedFor === null
      ? null
      : { sinceMs: suspendedAtMs, reason: suspendedFor };
  const deletion: Deletion | null =
    deletionRequestedAtMs === null || deleteAtMs === null
      ? null
      : { requestedAtMs: deletionRequestedAtMs, deleteAtMs };
  return { ...others, suspension, deletion };
}

/** Nodes cache the suspension with the workspace's domains, so those are invalidated. */
export async function setSuspension(
  db: Queryable,
  id: string,
  suspension: Suspension | null,
): Promise<void> {
  await db.query(
    `with changed as (
       update workspaces set suspended_at = $2, suspension_reason = $3 where id = $1 returning id)
     select pg_notify(${channel('domains')}, id::text) from changed`,
    [id, suspension && sqlTime(suspension.sinceMs), suspension?.reason ?? null],
  );
}

/** A workspace on its way to another installation is not: its links keep working. */
export async function isSuspended(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from workspaces where id = $1 and ${HELD_FOR} <> $2`,
    [id, MOVING_HOLD],
  );
  return rowCount === 1;
}

export async function insertWorkspace(
  db: Queryable,
  workspace: Omit<Workspace, 'suspension' | 'deletion'>,
  originId: string | null = null,
): Promise<void> {
  await db.query(
    'insert into workspaces (id, name, created_at, origin_id) values ($1, $2, $3, $4)',
    [workspace.id, workspace.name, sqlTime(workspace.createdAtMs), originId],
  );
}

/**
 * Of the original workspaces in whose group the person owns a workspace, one whose group has fewer
 * than `max` workspaces.
 */
export async function findOriginBelowLimit(
  db: Queryable,
  personId: string,
  max: number,
): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    `select o.id from (
       select distinct coalesce(w.origin_id, w.id) as id
       from memberships m join workspaces w on w.id = m.workspace_id
       where m.person_id = $1 and m.role = 'owner') o
     where 1 + (select count(*) from workspaces w where w.origin_id = o.id) < $2
     order by o.id limit 1`,
    [personId, max],
  );
  return rows[0]?.id;
}

/** Until the transaction ends, no other workspace can be created. */
export async function lockWorkspaces(db: Queryable): Promise<void> {
  await db.query('lock table workspaces in share row exclusive mode');
}

export async function listWorkspaces(db: Queryable): Promise<Workspace[]> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from workspaces order by id`);
  return rows.map(toState);
}

export interface WorkspacePage extends SearchedPage {
  /** Only those whose live sending is suspended. */
  suspended?: boolean;
}

/** Newest first. */
export async function listWorkspacePage(db: Queryable, page: WorkspacePage): Promise<Workspace[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from workspaces
     where ($1::uuid is null or id < $1) and ${containsTerms('$3', ['name'])}
       and ($4 = false or suspended_at is not null)
     order by id desc limit $2`,
    [page.before ?? null, page.limit, searchPatterns(page.text), page.suspended ?? false],
  );
  return rows.map(toState);
}

/** The oldest, unless it is scheduled for deletion and another one is not. */
export async function firstWorkspace(db: Queryable): Promise<Workspace | undefined> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from workspaces order by delete_at is not null, id limit 1`,
  );
  return rows[0] && toState(rows[0]);
}

export async function findWorkspaceByName(db: Queryable, name: string): Promise<Workspace[]> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from workspaces where name = $1`, [name]);
  return rows.map(toState);
}

export async function findWorkspace(db: Queryable, id: string): Promise<Workspace | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from workspaces where id = $1`, [id]);
  return rows[0] && toState(rows[0]);
}

export async function renameWorkspace(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update workspaces set name = $2 where id = $1', [id, name]);
}

/** Whether a workspace other than this one is not scheduled for deletion. */
export async function otherWorkspaceStays(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    'select exists (select from workspaces where id <> $1 and delete_at is null) as found',
    [id],
  );
  return rows[0]?.found ?? false;
}

/**
 * Sets when a workspace is deleted, or restores it with null; returns false when its purge has started.
 * Nodes cache that its mail is held with its domains, so those are invalidated.
 */
export async function setDeletion(
  db: Queryable,
  id: string,
  deletion: Deletion | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with changed as (
       update workspaces set deletion_requested_at = $2, delete_at = $3
       where id = $1 and purge_started_at is null returning id)
     select pg_notify(${channel('domains')}, id::text) from changed`,
    [id, deletion && sqlTime(deletion.requestedAtMs), deletion && sqlTime(deletion.deleteAtMs)],
  );
  return rowCount === 1;
}

/**
 * Claims a workspace whose time to be restored is over. From now on it cannot be restored, and nodes
 * refuse its keys.
 */
export async function startPurge(
  db: Queryable,
  nowMs: number,
): Promise<{ id: string; requestedAtMs: number } | undefined> {
  const { rows } = await db.query<{ id: string; requestedAtMs: number }>(
    `with started as (
       update workspaces set purge_started_at = $1 where id = (
         select id from workspaces where delete_at <= $1 and purge_started_at is null
         order by delete_at limit 1 for update skip locked)
       returning id, deletion_requested_at as "requestedAtMs")
     select started.*, ${workspaceChanged('id::text')} from started`,
    [sqlTime(nowMs)],
  );
  return rows[0];
}

/**
 * The last row of a purged workspace. If other workspaces descend from it, the oldest of them becomes
 * their origin, so that they still share one limit.
 */
export async function deleteWorkspace(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update workspaces w set origin_id = case when w.id <> heir.id then heir.id end
     from (select id from workspaces where origin_id = $1 order by id limit 1) heir
     where w.origin_id = $1`,
    [id],
  );
  await db.query('delete from workspaces where id = $1', [id]);
}
