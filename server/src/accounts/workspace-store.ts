import type { Queryable } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';
import type { Workspace } from './workspaces.ts';

const COLUMNS = 'id, name, created_at as "createdAtMs"';

export async function insertWorkspace(db: Queryable, workspace: Workspace): Promise<void> {
  await db.query('insert into workspaces (id, name, created_at) values ($1, $2, $3)', [
    workspace.id,
    workspace.name,
    sqlTime(workspace.createdAtMs),
  ]);
}

/** Until the transaction ends, nobody else makes a workspace. */
export async function lockWorkspaces(db: Queryable): Promise<void> {
  await db.query('lock table workspaces in share row exclusive mode');
}

export async function listWorkspaces(db: Queryable): Promise<Workspace[]> {
  const { rows } = await db.query<Workspace>(`select ${COLUMNS} from workspaces order by id`);
  return rows;
}

export async function firstWorkspace(db: Queryable): Promise<Workspace | undefined> {
  const { rows } = await db.query<Workspace>(
    `select ${COLUMNS} from workspaces order by id limit 1`,
  );
  return rows[0];
}

export async function findWorkspaceByName(db: Queryable, name: string): Promise<Workspace[]> {
  const { rows } = await db.query<Workspace>(`select ${COLUMNS} from workspaces where name = $1`, [
    name,
  ]);
  return rows;
}

export async function findWorkspace(db: Queryable, id: string): Promise<Workspace | undefined> {
  const { rows } = await db.query<Workspace>(`select ${COLUMNS} from workspaces where id = $1`, [
    id,
  ]);
  return rows[0];
}

export async function renameWorkspace(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update workspaces set name = $2 where id = $1', [id, name]);
}
