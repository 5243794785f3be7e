import { hkdfSync } from 'node:crypto';
import { createSealer } from '../lib/sealer.ts';
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
  if (!options.allowOther && !(await hasProof(pool)) && !(await opensOldSecrets(pool, secretKey))) {
    throw anotherKey();
  }
  await pool.query(
    `insert into secret_key_fingerprint (fingerprint) values ($1)
     on conflict (singleton) do update set fingerprint = excluded.fingerprint where $2`,
    [proof, options.allowOther],
  );
  const { rowCount } = await pool.query('select from secret_key_fingerprint where fingerprint = $1', [proof]);
  if (rowCount !== 1) throw anotherKey();
}

async function hasProof(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query('select from secret_key_fingerprint');
  return rowCount === 1;
}

/**
 * A database that is older than proofs holds secrets that tell as much. A wrong key that came first
 * after the upgrade would otherwise be believed, and the right one refused ever after.
 */
async function opensOldSecrets(pool: Pool, secretKey: Buffer): Promise<boolean> {
  const { rows } = await pool.query<{ purpose: string; sealed: Buffer }>(
    `(select 'dkim' as purpose, encrypted_private_key as sealed from domain_keys
       where encrypted_private_key is not null order by created_at desc limit 1)
     union all (select 'webhooks', encrypted_secret from webhook_secrets order by id desc limit 1)
     union all (select 'second-factor', totp_secret from people
       where totp_secret is not null order by id desc limit 1)`,
  );
  return rows.length === 0 || rows.some(({ purpose, sealed }) => opens(secretKey, purpose, sealed));
}

function opens(secretKey: Buffer, purpose: string, sealed: Buffer): boolean {
  try {
    createSealer(secretKey, purpose).open(sealed);
    return true;
  } catch {
    return false;
  }
}

function anotherKey(): StorageStartError {
  return new StorageStartError(
    'The secrets in this database were encrypted with another key. Set SECRET_KEY to that one, or put ' +
      'its secret.key back into DATA_DIR; every backup holds it. If it is lost for good, start once ' +
      'with ALLOW_OTHER_SECRET_KEY=true: domains then need new DKIM keys, webhooks new secrets, and ' +
      'people a new second factor.',
  );
}
