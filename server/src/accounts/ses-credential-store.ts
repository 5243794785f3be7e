import type { Pool, Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { SesCredentialsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { API_KEY_COLUMNS, type ApiKey, NOT_PURGED } from './api-key-store.ts';

/** A credential as shown: everything except its secret. */
export interface SesCredential {
  accessKeyId: string;
  createdBy: string;
  createdAtMs: number;
}

const SHOWN = selectList<SesCredentialsRow, SesCredential>({
  accessKeyId: 'access_key_id',
  createdBy: 'created_by',
  createdAtMs: 'created_at',
});

type KeyRef = Pick<ApiKey, 'workspaceId' | 'id'>;

export async function insertSesCredential(
  db: Queryable,
  key: KeyRef,
  credential: SesCredential,
  encryptedSecret: Buffer,
): Promise<void> {
  const { accessKeyId, createdBy, createdAtMs } = credential;
  await db.query(
    `insert into ses_credentials (access_key_id, workspace_id, key_id, encrypted_secret, created_by,
       created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [accessKeyId, key.workspaceId, key.id, encryptedSecret, createdBy, sqlTime(createdAtMs)],
  );
}

/** Newest first. A key has only a few. */
export async function listSesCredentials(db: Queryable, key: KeyRef): Promise<SesCredential[]> {
  const { rows } = await db.query<SesCredential>(
    `select ${SHOWN} from ses_credentials where workspace_id = $1 and key_id = $2
     order by created_at desc, access_key_id`,
    [key.workspaceId, key.id],
  );
  return rows;
}

/** Deletes one credential of a key, or all of them. Returns how many there were. */
export async function deleteSesCredentials(
  db: Queryable,
  key: KeyRef,
  accessKeyId: string | null = null,
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ses_credentials where workspace_id = $1 and key_id = $2
       and ($3::text is null or access_key_id = $3)`,
    [key.workspaceId, key.id, accessKeyId],
  );
  return rowCount ?? 0;
}

export type KeyOfCredential = ApiKey & { encryptedSecret: Buffer; isMoving: boolean };

/** The key that a credential belongs to, with the encrypted secret. */
export async function findKeyBySesCredential(
  pool: Pool,
  accessKeyId: string,
): Promise<KeyOfCredential | undefined> {
  const { rows } = await pool.query<KeyOfCredential>({
    name: 'find-key-by-ses-credential',
    text: `select ${API_KEY_COLUMNS}, c.encrypted_secret as "encryptedSecret",
        w.purge_started_at is not null as "isMoving"
      from ses_credentials c join api_keys k on k.workspace_id = c.workspace_id and k.id = c.key_id
      join workspaces w on w.id = k.workspace_id
      where c.access_key_id = $1 and ${NOT_PURGED}`,
    values: [accessKeyId],
  });
  return rows[0];
}
