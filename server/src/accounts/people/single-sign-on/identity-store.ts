import type { Queryable } from '../../../db/connections/pool.ts';
import { sqlTime } from '../../../db/schema/row-types.ts';
import { PERSON_COLUMNS, type Person } from '../person-store.ts';

/** An account at the provider of a workspace. */
export interface Identity {
  workspaceId: string;
  issuer: string;
  subject: string;
}

export async function findPersonOfIdentity(
  db: Queryable,
  { workspaceId, issuer, subject }: Identity,
): Promise<Person | undefined> {
  const { rows } = await db.query<Person>(
    `select ${PERSON_COLUMNS} from oidc_identities i join people p on p.id = i.person_id
     where i.workspace_id = $1 and i.issuer = $2 and i.subject = $3`,
    [workspaceId, issuer, subject],
  );
  return rows[0];
}

export async function insertIdentity(
  db: Queryable,
  identity: Identity & { personId: string; createdAtMs: number },
): Promise<void> {
  await db.query(
    `insert into oidc_identities (workspace_id, issuer, subject, person_id, created_at)
     values ($1, $2, $3, $4, $5)`,
    [
      identity.workspaceId,
      identity.issuer,
      identity.subject,
      identity.personId,
      sqlTime(identity.createdAtMs),
    ],
  );
}

/** After a change of the provider: its subjects are other people. */
export async function deleteIdentities(db: Queryable, workspaceId: string): Promise<void> {
  await db.query('delete from oidc_identities where workspace_id = $1', [workspaceId]);
}

/** Returns false if the sign-in was completed before. */
export async function markSignInUsed(
  db: Queryable,
  secretHash: Buffer,
  endsAtMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into used_sign_ins (secret_hash, expires_at) values ($1, $2)
     on conflict (secret_hash) do nothing`,
    [secretHash, sqlTime(endsAtMs)],
  );
  return rowCount === 1;
}

export async function deleteOldSignIns(db: Queryable, nowMs: number): Promise<void> {
  await db.query('delete from used_sign_ins where expires_at < $1', [sqlTime(nowMs)]);
}
