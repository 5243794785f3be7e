import { channel } from '../db/connections/notification-channels.ts';
import type { Pool, Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { ApiKeysRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { containsTerms, type SearchedPage, searchPatterns } from '../db/statements/text-search.ts';
import type { Scope } from './scopes.ts';
import type { Mode } from './tenant-scope.ts';

/** An API key as stored: everything except its secret, of which only a hash exists. */
export interface ApiKey {
  workspaceId: string;
  id: string;
  mode: Mode;
  name: string;
  scopes: Scope[];
  allowedDomains: string[];
  allowedIps: string[];
  /** The first is the default of sends that name no stream. */
  allowedStreams: string[];
  tokenHint: string;
  createdBy: string;
  createdAtMs: number;
  expiresAtMs: number | null;
  lastUsedAtMs: number | null;
  revokedAtMs: number | null;
}

export const API_KEY_COLUMNS = selectList<ApiKeysRow, ApiKey>(
  {
    workspaceId: 'workspace_id',
    id: 'id',
    mode: 'mode',
    name: 'name',
    scopes: 'scopes',
    allowedDomains: 'allowed_domains',
    allowedIps: 'allowed_ips',
    allowedStreams: 'allowed_streams',
    tokenHint: 'token_hint',
    createdBy: 'created_by',
    createdAtMs: 'created_at',
    expiresAtMs: 'expires_at',
    lastUsedAtMs: 'last_used_at',
    revokedAtMs: 'revoked_at',
  },
  'k',
);

export async function insertKey(db: Queryable, key: ApiKey): Promise<void> {
  await db.query(
    `insert into api_keys (workspace_id, id, mode, name, scopes, allowed_domains, allowed_ips,
       allowed_streams, token_hint, created_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      key.workspaceId,
      key.id,
      key.mode,
      key.name,
      key.scopes,
      key.allowedDomains,
      key.allowedIps,
      key.allowedStreams,
      key.tokenHint,
      key.createdBy,
      sqlTime(key.createdAtMs),
      sqlTime(key.expiresAtMs),
    ],
  );
}

export async function insertSecret(
  db: Queryable,
  key: { workspaceId: string; id: string },
  tokenHash: Buffer,
): Promise<void> {
  await db.query(
    'insert into api_key_secrets (token_hash, workspace_id, key_id) values ($1, $2, $3)',
    [tokenHash, key.workspaceId, key.id],
  );
}

/** For a rotation: existing secrets expire at `endsAtMs`, unless they already expire sooner. */
export async function expireSecrets(
  db: Queryable,
  key: { workspaceId: string; id: string },
  endsAtMs: number,
): Promise<void> {
  await db.query(
    `update api_key_secrets set expires_at = least(expires_at, $3)
     where workspace_id = $1 and key_id = $2`,
    [key.workspaceId, key.id, sqlTime(endsAtMs)],
  );
}

export async function updateKey(
  db: Queryable,
  key: Pick<
    ApiKey,
    | 'workspaceId'
    | 'id'
    | 'name'
    | 'scopes'
    | 'allowedDomains'
    | 'allowedIps'
    | 'allowedStreams'
    | 'expiresAtMs'
    | 'tokenHint'
    | 'revokedAtMs'
  >,
): Promise<void> {
  await db.query(
    `update api_keys set name = $3, scopes = $4, allowed_domains = $5, allowed_ips = $6,
       expires_at = $7, token_hint = $8, revoked_at = $9,
       allowed_streams = $10,
       expiry_notified_at = case when expires_at is distinct from $7 then null else expiry_notified_at end
     where workspace_id = $1 and id = $2`,
    [
      key.workspaceId,
      key.id,
      key.name,
      key.scopes,
      key.allowedDomains,
      key.allowedIps,
      sqlTime(key.expiresAtMs),
      key.tokenHint,
      sqlTime(key.revokedAtMs),
      key.allowedStreams,
    ],
  );
}

export async function findKey(
  db: Queryable,
  workspaceId: string,
  id: string,
  lock: '' | 'for update' = '',
): Promise<ApiKey | undefined> {
  const { rows } = await db.query<ApiKey>(
    `select ${API_KEY_COLUMNS} from api_keys k where k.workspace_id = $1 and k.id = $2 ${lock}`,
    [workspaceId, id],
  );
  return rows[0];
}

export type KeyOfSecret = ApiKey & { secretEndsAtMs: number | null; isMoving: boolean };

/**
 * The key that a presented secret belongs to, with the expiry of that secret when it was rotated. Keys of
 * a workspace that is being purged are not found.
 */
export async function findKeyByHash(
  pool: Pool,
  tokenHash: Buffer,
): Promise<KeyOfSecret | undefined> {
  const { rows } = await pool.query<KeyOfSecret>({
    name: 'find-key-by-hash',
    text: `select ${API_KEY_COLUMNS}, s.expires_at as "secretEndsAtMs",
        w.purge_started_at is not null as "isMoving"
      from api_key_secrets s join api_keys k on k.workspace_id = s.workspace_id and k.id = s.key_id
      join workspaces w on w.id = k.workspace_id
      where s.token_hash = $1 and ${NOT_PURGED}`,
    values: [tokenHash],
  });
  return rows[0];
}

/** Also a workspace on its way to another installation, which looks as if its purge had started. */
export const NOT_PURGED = `(w.purge_started_at is null
        or not exists (select from workspace_purges p where p.id = w.id and p.finished_at is null))`;

const PAGE = `api_keys k where k.workspace_id = $1 and ($2::mode is null or k.mode = $2)
  and ($3::uuid is null or k.id < $3) order by k.id desc`;

/**
 * Revoked keys are kept, so a workspace can have any number of keys. One search scans this many.
 */
const SCANNED_MAX = 20_000;

/** Newest first. */
export async function listKeys(
  db: Queryable,
  workspaceId: string,
  page: SearchedPage & { mode?: Mode },
): Promise<ApiKey[]> {
  const patterns = searchPatterns(page.text);
  const { rows } = await db.query<ApiKey>(
    `select ${API_KEY_COLUMNS} from (select k.* from ${PAGE} limit $5) k
     where ${containsTerms('$6', ['k.name', 'k.token_hint'])} order by k.id desc limit $4`,
    [
      ...[workspaceId, page.mode ?? null, page.before ?? null, page.limit],
      ...[patterns === null ? page.limit : SCANNED_MAX, patterns],
    ],
  );
  return rows;
}

/** The last key that a search of this page scanned, unless it reached the end. */
export async function lastSearchedId(
  db: Queryable,
  workspaceId: string,
  page: { mode?: Mode; before?: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    `select k.id from ${PAGE} offset ${SCANNED_MAX - 1} limit 1`,
    [workspaceId, page.mode ?? null, page.before ?? null],
  );
  return rows[0]?.id;
}

/** One statement for all keys used since the last write; a key may be in it several times. */
export async function writeLastUsed(
  pool: Pool,
  used: { workspaceId: string; id: string; atMs: number }[],
): Promise<void> {
  await pool.query({
    name: 'write-last-used',
    text: `update api_keys k set last_used_at = u.at
      from (select workspace_id, id, max(at) as at
        from json_to_recordset($1::json) as used(workspace_id uuid, id uuid, at timestamptz)
        group by workspace_id, id) u
      where k.workspace_id = u.workspace_id and k.id = u.id
        and (k.last_used_at is null or k.last_used_at < u.at)`,
    values: [
      JSON.stringify(
        used.map((one) => ({
          workspace_id: one.workspaceId,
          id: one.id,
          at: sqlTime(one.atMs),
        })),
      ),
    ],
  });
}

/** Marks and returns keys that expire before `beforeMs` and whose expiry was not announced yet. */
export async function markExpiring(
  db: Queryable,
  nowMs: number,
  beforeMs: number,
): Promise<ApiKey[]> {
  const { rows } = await db.query<ApiKey>(
    `update api_keys k set expiry_notified_at = $1
     where k.expires_at > $1 and k.expires_at <= $2 and k.revoked_at is null
       and k.expiry_notified_at is null
     returning ${API_KEY_COLUMNS}`,
    [sqlTime(nowMs), sqlTime(beforeMs)],
  );
  return rows;
}

export async function notifyKeyChanged(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(`select pg_notify(${channel('accounts')}, $1)`, [workspaceId]);
}
