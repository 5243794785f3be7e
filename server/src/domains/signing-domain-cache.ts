import type { Pool } from '../db/connections/pool.ts';
import { assert } from '../lib/assert.ts';
import type { Encryptor } from '../lib/crypto/encryption.ts';
import { NotifyCache } from '../lib/notify-cache.ts';
import type { Clock } from '../lib/time/clock.ts';
import { loadPrivateKey } from '../mail/dkim/keys.ts';
import type { DkimKey } from '../mail/dkim/sign.ts';
import { type DomainRow, findSigningDomain, type SigningKey } from './domain-store.ts';
import { isKeyRecordFound } from './record-states.ts';

/**
 * What delivery needs to know about a message's domain: the decrypted keys to sign with, and its
 * delivery settings. Mail is always signed with RSA, and also with Ed25519 when its record was
 * found or the operator trusts the domain; a signature whose key is not in DNS is useless.
 */

export interface SigningDomain {
  /** Never empty. */
  keys: DkimKey[];
  /** The domain of MAIL FROM, aligned with the From address. */
  returnPathHost: string;
  tlsRequired: boolean;
  trackingHost: string | null;
  /** Why the operator suspended the workspace's mail; null if not suspended. */
  suspendedFor: string | null;
}

/** Keys take about 6 KB of memory per domain. */
const ENTRIES_MAX = 20_000;

export class SigningDomainCache {
  readonly #pool: Pool;
  readonly #encryptor: Encryptor;
  readonly #cache: NotifyCache<SigningDomain | undefined>;

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    encryptor: Encryptor;
    maxAgeMs: () => number;
  }) {
    this.#pool = parts.pool;
    this.#encryptor = parts.encryptor;
    this.#cache = new NotifyCache({ ...parts, entriesMax: ENTRIES_MAX });
  }

  /**
   * Undefined when the workspace has no such domain, or one that may no longer send. Throws when a
   * key cannot be decrypted or the database is unavailable: the mail must then wait, never be sent
   * unsigned.
   */
  async find(workspaceId: string, name: string): Promise<SigningDomain | undefined> {
    return this.#cache.get(workspaceId, name, () => this.#read(workspaceId, name));
  }

  /** Called when a domain of the workspace has changed. */
  invalidateWorkspace(workspaceId: string): void {
    this.#cache.invalidate(workspaceId);
  }

  invalidateAll(): void {
    this.#cache.invalidateAll();
  }

  async #read(workspaceId: string, name: string): Promise<SigningDomain | undefined> {
    const found = await findSigningDomain(this.#pool, workspaceId, name);
    const maySend = found?.domain.status === 'verified' || found?.domain.status === 'degraded';
    return found && maySend ? this.#decryptKeys(found) : undefined;
  }

  #decryptKeys({
    domain,
    keys,
    suspendedFor,
  }: {
    domain: DomainRow;
    keys: readonly SigningKey[];
    suspendedFor: string | null;
  }): SigningDomain {
    const dkimKeys = keys
      .filter((key) => key.algorithm === 'rsa' || domain.trusted || isKeyRecordFound(domain, key))
      .map((key) => ({
        algorithm: key.algorithm,
        domain: domain.name,
        selector: key.selector,
        privateKey: loadPrivateKey(this.#encryptor.decrypt(key.encryptedPrivateKey).toString()),
      }));
    // Without this check, a domain without keys would send unsigned mail.
    assert(
      dkimKeys.some((key) => key.algorithm === 'rsa'),
      'every domain has an RSA key',
    );
    return {
      keys: dkimKeys,
      returnPathHost: domain.returnPathHost,
      tlsRequired: domain.tls === 'required',
      trackingHost: domain.trackingHost,
      suspendedFor,
    };
  }
}
