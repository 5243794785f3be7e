import type { Pool } from '../db/connections/pool.ts';
import { inTransaction } from '../db/connections/pool.ts';
import type { Encryptor } from '../lib/crypto/encryption.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { notifyKeyChanged } from './api-key-store.ts';
import { newAccessKeyId, newSesSecret } from './api-key-token.ts';
import { type ApiKeys, checkGrant, type KeyIssuer, lockKey } from './api-keys.ts';
import {
  deleteSesCredentials,
  insertSesCredential,
  listSesCredentials,
  type SesCredential,
} from './ses-credential-store.ts';

/**
 * Credentials of an API key for programs that speak the API of Amazon SES, where every request is
 * signed with a secret that is never sent. They have the mode, scopes, limits and expiry of their
 * key at every moment, and end with it.
 */

/** As many as AWS allows: the one in use, and the one that replaces it. */
const SES_CREDENTIALS_MAX = 2;

export const SES_ENCRYPTION_PURPOSE = 'ses-credentials';

export class SesCredentials {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #encryptor: Encryptor;
  readonly #apiKeys: Pick<ApiKeys, 'get'>;

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    encryptor: Encryptor;
    apiKeys: Pick<ApiKeys, 'get'>;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#encryptor = parts.encryptor;
    this.#apiKeys = parts.apiKeys;
  }

  /** The secret gives the rights of the key, so the issuer must have them. */
  async create(
    issuer: KeyIssuer,
    keyId: string,
  ): Promise<{ credential: SesCredential; secret: string }> {
    const createdAtMs = this.#clock.now();
    return inTransaction(this.#pool, async (client) => {
      const key = await lockKey(client, issuer, keyId);
      checkGrant(issuer, key);
      if ((await listSesCredentials(client, key)).length >= SES_CREDENTIALS_MAX) {
        const detail = `A key can have at most ${SES_CREDENTIALS_MAX} SES credentials. Revoke one first.`;
        throw new RefusedError('conflict', detail);
      }
      const secret = newSesSecret();
      const accessKeyId = newAccessKeyId(key.mode);
      const credential = { accessKeyId, createdBy: issuer.actor, createdAtMs };
      const encryptedSecret = this.#encryptor.encrypt(Buffer.from(secret));
      await insertSesCredential(client, key, credential, encryptedSecret);
      return { credential, secret };
    });
  }

  async list(issuer: KeyIssuer, keyId: string): Promise<SesCredential[]> {
    return await listSesCredentials(this.#pool, await this.#apiKeys.get(issuer, keyId));
  }

  async revoke(issuer: KeyIssuer, keyId: string, accessKeyId: string): Promise<void> {
    const key = await this.#apiKeys.get(issuer, keyId);
    await inTransaction(this.#pool, async (client) => {
      if ((await deleteSesCredentials(client, key, accessKeyId)) === 0) {
        const detail = 'This key has no SES credentials with this access key ID.';
        throw new RefusedError('not_found', detail);
      }
      await notifyKeyChanged(client, key.workspaceId);
    });
  }
}

/** The public form of a credential. */
export function publicSesCredential({ accessKeyId, createdBy, createdAtMs }: SesCredential) {
  return {
    access_key_id: accessKeyId,
    created_by: createdBy,
    created_at: new Date(createdAtMs).toISOString(),
  };
}
