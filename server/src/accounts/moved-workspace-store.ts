import { channel } from '../db/connections/notification-channels.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { MovedWorkspacesRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { deletePeopleWithoutWorkspace } from './people/person-store.ts';

/**
 * Records of workspaces that have moved to another installation. Their former members and the holders of
 * their API keys and invitations learn the new address, and no one else.
 */
export interface MovedWorkspace {
  id: string;
  name: string;
  /** The public URL of the installation that has the workspace; null if it was not known. */
  url: string | null;
  movedAtMs: number;
}

const COLUMNS = selectList<MovedWorkspacesRow, MovedWorkspace>(
  { id: 'id', name: 'name', url: 'url', movedAtMs: 'moved_at' },
  'v',
);

/** Records where a workspace is, and ends the memberships here. Requires a transaction. */
export async function recordMovedWorkspace(
  db: Queryable,
  id: string,
  url: string | null,
  nowMs: number,
): Promise<void> {
  await db.query(
    `insert into moved_workspaces (id, name, url, moved_at)
     select id, name, $2, $3 from workspaces where id = $1
     on conflict (id) do update set name = excluded.name, url = excluded.url,
       moved_at = excluded.moved_at`,
    [id, url, sqlTime(nowMs)],
  );
  await db.query(
    `insert into moved_members (person_id, moved_id)
     select person_id, $1 from memberships where workspace_id = $1 on conflict do nothing`,
    [id],
  );
  await db.query(
    `insert into moved_secrets (token_hash, moved_id, expires_at)
     select s.token_hash, $1, least(s.expires_at, k.expires_at)
       from api_key_secrets s join api_keys k on k.workspace_id = s.workspace_id and k.id = s.key_id
      where s.workspace_id = $1 and k.revoked_at is null
     union all
     select token_hash, $1, expires_at from invitations
      where workspace_id = $1 and accepted_at is null and revoked_at is null
     on conflict do nothing`,
    [id],
  );
  // An invitation that is accepted here would be lost.
  await db.query(
    'delete from invitations where workspace_id = $1 and accepted_at is null and revoked_at is null',
    [id],
  );
  await db.query(
    `with ended as (delete from memberships where workspace_id = $1 returning person_id)
     select pg_notify(${channel('people')}, person_id::text) from ended`,
    [id],
  );
}

/** The workspace is here again. */
export async function forgetMovedWorkspace(db: Queryable, id: string): Promise<void> {
  await db.query('delete from moved_workspaces where id = $1', [id]);
}

/** The workspace that an API key or an invitation was for. */
export async function findMovedBySecret(
  db: Queryable,
  tokenHash: Buffer,
  nowMs: number,
): Promise<MovedWorkspace | undefined> {
  const { rows } = await db.query<MovedWorkspace>({
    name: 'find-moved-by-secret',
    text: `select ${COLUMNS} from moved_secrets s join moved_workspaces v on v.id = s.moved_id
      where s.token_hash = $1 and (s.expires_at is null or s.expires_at > $2)`,
    values: [tokenHash, sqlTime(nowMs)],
  });
  return rows[0];
}

/** A workspace of which the person was a member. */
export async function findMovedByMember(
  db: Queryable,
  personId: string,
  id: string,
): Promise<MovedWorkspace | undefined> {
  const { rows } = await db.query<MovedWorkspace>({
    name: 'find-moved-by-member',
    text: `select ${COLUMNS} from moved_members m join moved_workspaces v on v.id = m.moved_id
      where m.person_id = $1 and m.moved_id = $2`,
    values: [personId, id],
  });
  return rows[0];
}

/** The last ones first. */
export async function listMovedByMember(
  db: Queryable,
  personId: string,
): Promise<MovedWorkspace[]> {
  const { rows } = await db.query<MovedWorkspace>({
    name: 'list-moved-by-member',
    text: `select ${COLUMNS} from moved_members m join moved_workspaces v on v.id = m.moved_id
      where m.person_id = $1 order by v.moved_at desc, v.id limit ${LISTED_MAX}`,
    values: [personId],
  });
  return rows;
}

const LISTED_MAX = 100;
const DELETED_MAX = 100;

/** Deletes old records, and the accounts that are then in no workspace. */
export async function deleteOldMovedWorkspaces(pool: Pool, beforeMs: number): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    'select id from moved_workspaces where moved_at < $1 order by moved_at limit $2',
    [sqlTime(beforeMs), DELETED_MAX],
  );
  for (const { id } of rows) {
    await inTransaction(pool, async (db) => {
      const members = await db.query<{ id: string }>(
        'delete from moved_members where moved_id = $1 returning person_id as id',
        [id],
      );
      await forgetMovedWorkspace(db, id);
      await deletePeopleWithoutWorkspace(
        db,
        members.rows.map((row) => row.id),
      );
    });
  }
}

/** Servers write the URL of their installation at startup. */
export async function saveBaseUrl(db: Queryable, baseUrl: string): Promise<void> {
  await db.query(
    `insert into installation (base_url) values ($1)
     on conflict (singleton) do update set base_url = $1 where installation.base_url <> $1`,
    [baseUrl],
  );
}

/** Undefined if no server has run yet. */
export async function readBaseUrl(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.query<{ url: string }>('select base_url as url from installation');
  return rows[0]?.url;
}
