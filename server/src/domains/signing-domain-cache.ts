import type { Pool } from '../db/pool.ts';
import { assert } from '../lib/assert.ts';
import { Believed } from '../lib/believed.ts';
import type { Clock } from '../lib/clock.ts';
import type { Sealer } from '../lib/sealer.ts';
import { loadPrivateKey } from '../mail/dkim/keys.ts';
import type { DkimKey } from '../mail/dkim/sign.ts';
import type { SealedKey } from './dkim-key-generator.ts';
import type { Domain } from './domain.ts';
import { findSigningDomain } from './domain-store.ts';
import { isKeyRecordFound } from './record-states.ts';

/**
 * What delivery needs of a message's domain: the opened keys to sign with, and how its mail is to
 * travel. RSA signs always; Ed25519 signs when its record was found, or the operator trusts the
 * domain: a signature that cannot be looked up helps nobody.
 */

export interface SigningDomain {
  /** Never empty. */
  keys: DkimKey[];
  /** The domain of MAIL FROM, aligned with the From address. */
  returnPathHost: string;
  tlsRequired: boolean;
  trackingHost: string | null;
  /** Why the operator has stopped the mail of the whole workspace; null: he has not. */
  suspendedFor: string | null;
}

const ENTRIES_MAX = 5_000;

export class SigningDomainCache {
  readonly #pool: Pool;
  readonly #sealer: Sealer;
  readonly #cache: Believed<SigningDomain | undefined>;

  constructor(parts: { pool: Pool; clock: Clock; sealer: Sealer; noticesArrive: () => boolean }) {
    this.#pool = parts.pool;
    this.#sealer = parts.sealer;
    this.#cache = new Believed({ ...parts, entriesMax: ENTRIES_MAX });
  }

  /**
   * Undefined when the workspace has no such domain, or one that may not send any more. Throws when a
   * key cannot be opened or the database does not answer: then the mail must wait, not leave unsigned.
   */
  async find(workspaceId: string, name: string): Promise<SigningDomain | undefined> {
    return this.#cache.get(workspaceId, name, () => this.#read(workspaceId, name));
  }

  /** Some domain of this workspace changed. */
  forgetWorkspace(workspaceId: string): void {
    this.#cache.forget(workspaceId);
  }

  forgetAll(): void {
    this.#cache.forgetAll();
  }

  async #read(workspaceId: string, name: string): Promise<SigningDomain | undefined> {
    const found = await findSigningDomain(this.#pool, workspaceId, name);
    const maySend = found?.domain.status === 'verified' || found?.domain.status === 'degraded';
    return found && maySend ? this.#unsealKeys(found) : undefined;
  }

  #unsealKeys({
    domain,
    keys,
    suspendedFor,
  }: {
    domain: Domain;
    keys: readonly SealedKey[];
    suspendedFor: string | null;
  }): SigningDomain {
    const dkimKeys = keys
      .filter((key) => key.algorithm === 'rsa' || domain.trusted || isKeyRecordFound(domain, key))
      .map((key) => ({
        algorithm: key.algorithm,
        domain: domain.name,
        selector: key.selector,
        privateKey: loadPrivateKey(this.#sealer.open(key.sealedPrivateKey).toString()),
      }));
    // Signing with no key at all would succeed, and the mail leave unsigned.
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
