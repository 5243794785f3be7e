import type { Mode } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { IdempotencyKeysRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import { IDEMPOTENCY_MS } from './accept-store.ts';

interface IdempotencyKeyRef {
  workspaceId: string;
  mode: Mode;
  key: string;
}

export interface IdempotencyKeyRow {
  requestHash: string;
  /** Null while the first request is still running. */
  result: Buffer | null;
  encrypted: boolean;
}

const COLUMNS = `encode(request_hash, 'hex') as "requestHash", ${selectList<
  IdempotencyKeysRow,
  Omit<IdempotencyKeyRow, 'requestHash'>
>({ result: 'result', encrypted: 'result_encrypted' })}`;

export async function findKeyRow(
  pool: Pool,
  ref: IdempotencyKeyRef,
  nowMs: number,
): Promise<IdempotencyKeyRow | undefined> {
  const { rows } = await pool.query<IdempotencyKeyRow>({
    name: 'find-idempotency-key',
    text: `select ${COLUMNS} from idempotency_keys
      where workspace_id = $1 and mode = $2 and key = $3 and created_at >= $4`,
    values: [ref.workspaceId, ref.mode, ref.key, sqlTime(nowMs - IDEMPOTENCY_MS)],
  });
  return rows[0];
}

/** Acquires the key, or returns the row of the request that holds it. */
export async function acquireKey(
  pool: Pool,
  ref: IdempotencyKeyRef & { requestHash: string },
  nowMs: number,
  runningMaxMs: number,
): Promise<IdempotencyKeyRow | undefined> {
  // The holder may release the key before it can be read. In that case it can be acquired after
  // all.
  for (;;) {
    if (await tryAcquireKey(pool, ref, nowMs, runningMaxMs)) return undefined;
    const row = await findKeyRow(pool, ref, nowMs);
    if (row) return row;
  }
}

async function tryAcquireKey(
  pool: Pool,
  ref: IdempotencyKeyRef & { requestHash: string },
  nowMs: number,
  runningMaxMs: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into idempotency_keys as old (workspace_id, mode, key, request_hash, created_at)
     values ($1, $2, $3, decode($4, 'hex'), $5)
     on conflict (workspace_id, mode, key) do update
       set request_hash = excluded.request_hash, result = null, result_encrypted = false,
           created_at = excluded.created_at
     where old.created_at < $6 or (old.result is null and old.created_at < $7)`,
    [
      ref.workspaceId,
      ref.mode,
      ref.key,
      ref.requestHash,
      sqlTime(nowMs),
      sqlTime(nowMs - IDEMPOTENCY_MS),
      sqlTime(nowMs - runningMaxMs),
    ],
  );
  return rowCount === 1;
}

export async function completeKey(
  pool: Pool,
  ref: IdempotencyKeyRef,
  encryptedResult: Buffer,
): Promise<void> {
  await pool.query(
    `update idempotency_keys set result = $4, result_encrypted = true
     where workspace_id = $1 and mode = $2 and key = $3`,
    [ref.workspaceId, ref.mode, ref.key, encryptedResult],
  );
}

export async function releaseKey(pool: Pool, ref: IdempotencyKeyRef): Promise<void> {
  await pool.query(
    'delete from idempotency_keys where workspace_id = $1 and mode = $2 and key = $3 and result is null',
    [ref.workspaceId, ref.mode, ref.key],
  );
}

/** Deletes up to `countMax` expired keys. Returns true when there may be more. */
export async function deleteExpiredKeys(
  pool: Pool,
  nowMs: number,
  countMax: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from idempotency_keys where ctid = any(array(
       select ctid from idempotency_keys where created_at < $1 limit $2))`,
    [sqlTime(nowMs - IDEMPOTENCY_MS), countMax],
  );
  return rowCount === countMax;
}
