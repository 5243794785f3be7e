import { channel, workspaceChanged } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';

/**
 * The state of a workspace that moves to another database. While it leaves or arrives, it looks as if its
 * purge had started, without a row in workspace_purges: its keys are refused, and nothing restores it.
 */
export type MoveState = 'absent' | 'active' | 'deleting' | 'moving' | 'purging';

export async function readMoveState(db: Queryable, id: string): Promise<MoveState> {
  const { rows } = await db.query<{ state: MoveState }>(
    `select ${STATE} as state from workspaces w where w.id = $1`,
    [id],
  );
  return rows[0]?.state ?? 'absent';
}

const STATE = `case when w.delete_at is null then 'active'
                    when w.purge_started_at is null then 'deleting'
                    when exists (select from workspace_purges p
                                  where p.id = w.id and p.finished_at is null) then 'purging'
                    else 'moving' end`;

/** The state of the workspace that a secret belongs to. An operator key belongs to the installation. */
export async function readMoveStateOfKey(db: Queryable, tokenHash: Buffer): Promise<MoveState> {
  const { rows } = await db.query<{ state: MoveState }>(
    `select ${STATE} as state from api_key_secrets s join workspaces w on w.id = s.workspace_id
      where s.token_hash = $1
     union all
     select 'active' from operator_keys where token_hash = $1`,
    [tokenHash],
  );
  return rows[0]?.state ?? 'absent';
}

export async function readMoveStateOfCredential(
  db: Queryable,
  accessKeyId: string,
): Promise<MoveState> {
  const { rows } = await db.query<{ state: MoveState }>(
    `select ${STATE} as state from ses_credentials c join workspaces w on w.id = c.workspace_id
      where c.access_key_id = $1`,
    [accessKeyId],
  );
  return rows[0]?.state ?? 'absent';
}

export async function markMoving(db: Queryable, id: string, nowMs: number): Promise<void> {
  await db.query(
    `update workspaces set deletion_requested_at = $2, delete_at = $2, purge_started_at = $2
      where id = $1`,
    [id, sqlTime(nowMs)],
  );
  // Nodes cache keys, and with the domains that mail is held.
  await db.query(
    `select pg_notify(${channel('accounts')}, $1), pg_notify(${channel('domains')}, $1)`,
    [id],
  );
}

/** What may have changed at the source since the workspace began to arrive. */
export interface Profile {
  name: string;
  suspended_at: number | null;
  suspension_reason: string | null;
}

export async function readProfile(db: Queryable, id: string): Promise<Profile> {
  const { rows } = await db.query<Profile>(
    'select name, suspended_at, suspension_reason from workspaces where id = $1',
    [id],
  );
  return rows[0] as Profile;
}

export async function markActive(db: Queryable, id: string, profile: Profile): Promise<void> {
  await db.query(
    `update workspaces set deletion_requested_at = null, delete_at = null, purge_started_at = null,
                           name = $2, suspended_at = $3, suspension_reason = $4
      where id = $1`,
    [id, profile.name, sqlTime(profile.suspended_at), profile.suspension_reason],
  );
  // A workspace that comes back may find what nodes cached before it left.
  await db.query(`select ${workspaceChanged('$1')}`, [id]);
}

/** Asks servers to start nothing for the workspace in the next seconds. */
export async function announceMove(db: Queryable, id: string): Promise<void> {
  await db.query(`select pg_notify(${channel('moves')}, $1)`, [id]);
}

/** Members of the workspace by address: who has an account here, and who does not. */
export async function findPeopleByEmail(
  db: Queryable,
  emailKeys: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; email_key: string }>(
    'select id, email_key from people where email_key = any($1)',
    [emailKeys],
  );
  return new Map(rows.map((row) => [row.email_key, row.id]));
}

export async function personExists(db: Queryable, id: string): Promise<boolean> {
  return (await db.query('select from people where id = $1', [id])).rowCount === 1;
}

/** How many contents of the workspace are in the content archive. */
export async function countArchived(db: Queryable, id: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'select count(*)::int as n from archived_contents where workspace_id = $1',
    [id],
  );
  return rows[0]?.n ?? 0;
}
