import { hkdfSync } from 'node:crypto';
import type { Pool } from './pool.ts';
import { StorageStartError } from './start-error.ts';

/**
 * Refuses a SECRET_KEY other than the one that the secrets in the database were sealed with. Without
 * this a start with another one, or with a secret.key that was left behind when data moved, would go
 * well, and fail later at every signature, webhook and second factor. The first start leaves a proof
 * that is derived from the key and tells nothing of it.
 */
export async function proveSecretKey(
  pool: Pool,
  secretKey: Buffer,
  options: { allowOther: boolean },
): Promise<void> {
  const proof = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'proof', 32));
  await pool.query(
    `insert into secret_key_proof (proof) values ($1)
     on conflict (only_row) do update set proof = excluded.proof where $2`,
    [proof, options.allowOther],
  );
  const { rowCount } = await pool.query('select from secret_key_proof where proof = $1', [proof]);
  if (rowCount === 1) return;
  throw new StorageStartError(
    'The secrets in this database were encrypted with another key. Set SECRET_KEY to that one, or put ' +
      'its secret.key back into DATA_DIR; every backup holds it. If it is lost for good, start once ' +
      'with ALLOW_OTHER_SECRET_KEY=true: domains then need new DKIM keys, webhooks new secrets, and ' +
      'people a new second factor.',
  );
}
