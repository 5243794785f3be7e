import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { OperatorKeysRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';

/** An operator key as stored: everything except its secret, of which only a hash exists. */
export interface OperatorKey {
  id: string;
  name: string;
  tokenHint: string;
  allowedIps: string[];
  createdAtMs: number;
  expiresAtMs: number | null;
  lastUsedAtMs: number | null;
  revokedAtMs: number | null;
}

const COLUMNS = selectList<OperatorKeysRow, OperatorKey>({
  id: 'id',
  name: 'name',
  tokenHint: 'token_hint',
  allowedIps: 'allowed_ips',
  createdAtMs: 'created_at',
  expiresAtMs: 'expires_at',
  lastUsedAtMs: 'last_used_at',
  revokedAtMs: 'revoked_at',
});

export async function insertOperatorKey(
  db: Queryable,
  key: OperatorKey,
  tokenHash: Buffer,
): Promise<void> {
  await db.query(
    `insert into operator_keys (id, name, token_hash, token_hint, allowed_ips, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      key.id,
      key.name,
      tokenHash,
      key.tokenHint,
      key.allowedIps,
      sqlTime(key.createdAtMs),
      sqlTime(key.expiresAtMs),
    ],
  );
}

export async function findOperatorKeyByHash(
  db: Queryable,
  tokenHash: Buffer,
): Promise<OperatorKey | undefined> {
  const { rows } = await db.query<OperatorKey>(
    `select ${COLUMNS} from operator_keys where token_hash = $1`,
    [tokenHash],
  );
  return rows[0];
}

/** Newest first, including revoked ones. Operators create them by hand, so there are few. */
export async function listOperatorKeys(
  db: Queryable,
  { before, limit }: { before?: string; limit?: number },
): Promise<OperatorKey[]> {
  const { rows } = await db.query<OperatorKey>(
    `select ${COLUMNS} from operator_keys where ($1::uuid is null or id < $1)
     order by id desc limit $2`,
    [before ?? null, limit ?? null],
  );
  return rows;
}

/** Undefined if there is no such key. A key that is already revoked keeps its time. */
export async function revokeOperatorKey(
  db: Queryable,
  id: string,
  nowMs: number,
): Promise<OperatorKey | undefined> {
  const { rows } = await db.query<OperatorKey>(
    `update operator_keys set revoked_at = coalesce(revoked_at, $2) where id = $1
     returning ${COLUMNS}`,
    [id, sqlTime(nowMs)],
  );
  return rows[0];
}

export async function writeOperatorKeyUse(db: Queryable, id: string, nowMs: number): Promise<void> {
  await db.query('update operator_keys set last_used_at = $2 where id = $1', [id, sqlTime(nowMs)]);
}
