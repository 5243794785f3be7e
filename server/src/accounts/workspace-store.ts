import type { Queryable } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import { selectList } from '../db/select-list.ts';
import type { WorkspacesRow } from '../db/tables.ts';
import type { Suspension, Workspace } from './workspace.ts';

interface Row extends Omit<Workspace, 'suspension'>, SuspensionColumns {}

export interface SuspensionColumns {
  suspendedAtMs: number | null;
  suspendedFor: string | null;
}

const COLUMNS = selectList<WorkspacesRow, Row>({
  id: 'id',
  name: 'name',
  createdAtMs: 'created_at',
  suspendedAtMs: 'suspended_at',
  suspendedFor: 'suspension_reason',
});

function toWorkspace({ suspendedAtMs, suspendedFor, ...workspace }: Row): Workspace {
  return { ...workspace, suspension: toSuspension({ suspendedAtMs, suspendedFor }) };
}

export function toSuspension({
  suspendedAtMs,
  suspendedFor,
}: SuspensionColumns): Suspension | null {
  if (suspendedAtMs === null || suspendedFor === null) return null;
  return { sinceMs: suspendedAtMs, reason: suspendedFor };
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
     select pg_notify('domains', id::text) from changed`,
    [id, suspension && sqlTime(suspension.sinceMs), suspension?.reason ?? null],
  );
}

export async function isSuspended(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from workspaces where id = $1 and suspended_at is not null',
    [id],
  );
  return rowCount === 1;
}

export async function insertWorkspace(
  db: Queryable,
  workspace: Omit<Workspace, 'suspension'>,
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
  return rows.map(toWorkspace);
}

export async function firstWorkspace(db: Queryable): Promise<Workspace | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from workspaces order by id limit 1`);
  return rows[0] && toWorkspace(rows[0]);
}

export async function findWorkspaceByName(db: Queryable, name: string): Promise<Workspace[]> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from workspaces where name = $1`, [name]);
  return rows.map(toWorkspace);
}

export async function findWorkspace(db: Queryable, id: string): Promise<Workspace | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from workspaces where id = $1`, [id]);
  return rows[0] && toWorkspace(rows[0]);
}

export async function renameWorkspace(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update workspaces set name = $2 where id = $1', [id, name]);
}
