import { hkdfSync } from 'node:crypto';
import { createEncryptor } from '../lib/crypto/encryption.ts';
import { StorageStartError } from './connections/database-errors.ts';
import type { Pool } from './connections/pool.ts';

/**
 * Refuses a SECRET_KEY other than the one that the secrets in the database are encrypted with. A
 * start with the wrong key would otherwise succeed and fail later at every signature, webhook and
 * second factor. The first start stores a fingerprint that is derived from the key with HKDF.
 */
export async function verifySecretKey(
  pool: Pool,
  secretKey: Buffer,
  options: { allowOther: boolean },
): Promise<void> {
  const fingerprint = fingerprintOf(secretKey);
  if (
    !options.allowOther &&
    !(await hasFingerprint(pool)) &&
    !(await canDecryptSecrets(pool, secretKey))
  ) {
    throw wrongKeyError();
  }
  await pool.query(
    `insert into secret_key_fingerprint (fingerprint) values ($1)
     on conflict (singleton) do update set fingerprint = excluded.fingerprint where $2`,
    [fingerprint, options.allowOther],
  );
  if (!(await isFingerprint(pool, fingerprint))) throw wrongKeyError();
}

/** Refuses the same keys, but stores nothing. */
export async function checkSecretKey(pool: Pool, secretKey: Buffer): Promise<void> {
  const isRight = (await hasFingerprint(pool))
    ? await isFingerprint(pool, fingerprintOf(secretKey))
    : await canDecryptSecrets(pool, secretKey);
  if (!isRight) throw wrongKeyError();
}

function fingerprintOf(secretKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'proof', 32));
}

async function isFingerprint(pool: Pool, fingerprint: Buffer): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select from secret_key_fingerprint where fingerprint = $1',
    [fingerprint],
  );
  return rowCount === 1;
}

async function hasFingerprint(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query('select from secret_key_fingerprint');
  return rowCount === 1;
}

/**
 * Checks a key against stored secrets if the fingerprint is missing, for example after a partial
 * restore. Otherwise a wrong key would be recorded as the right one.
 */
async function canDecryptSecrets(pool: Pool, secretKey: Buffer): Promise<boolean> {
  const { rows } = await pool.query<{ purpose: string; encrypted: Buffer }>(
    `(select 'dkim' as purpose, encrypted_private_key as encrypted from domain_keys
       where encrypted_private_key is not null order by created_at desc limit 1)
     union all (select 'webhooks', encrypted_secret from webhook_secrets order by id desc limit 1)
     union all (select 'second-factor', totp_secret from people
       where totp_secret is not null order by id desc limit 1)
     union all (select 'ses-credentials', encrypted_secret from ses_credentials
       order by created_at desc limit 1)
     union all (select 'single-sign-on', encrypted_client_secret from oidc_connections
       order by updated_at desc limit 1)`,
  );
  return (
    rows.length === 0 ||
    rows.some(({ purpose, encrypted }) => canDecrypt(secretKey, purpose, encrypted))
  );
}

function canDecrypt(secretKey: Buffer, purpose: string, encrypted: Buffer): boolean {
  try {
    createEncryptor(secretKey, purpose).decrypt(encrypted);
    return true;
  } catch {
    return false;
  }
}

function wrongKeyError(): StorageStartError {
  return new StorageStartError(
    'The secrets in this database were encrypted with a different key. Set SECRET_KEY to that key, or ' +
      'restore its secret.key to DATA_DIR; every backup contains it. If the key is lost, start once ' +
      'with ALLOW_OTHER_SECRET_KEY=true: domains then need new DKIM keys, webhooks need new secrets, ' +
      'and users need to set up their second factor again.',
  );
}
