import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Sealer } from '../base/sealer.ts';
import { loadPrivateKey } from '../mail/dkim-keys.ts';
import type { DkimKey } from '../mail/dkim-sign.ts';
import type { Pool } from '../storage/pool.ts';
import type { Domain } from './domain.ts';
import type { SealedKey } from './domain-keys.ts';
import { findSigningDomain } from './domain-store.ts';
import { isKeyFound } from './record-states.ts';

/**
 * What delivery needs of a message's domain: the opened keys to sign with, and how its mail is to
 * travel. It is remembered until a notice says that the workspace's domains changed; while notices
 * may be lost it is believed for a second only. RSA signs always; Ed25519 signs when its record was
 * found, or the operator trusts the domain: a signature that cannot be looked up helps nobody.
 */

export interface SigningDomain {
  /** Never empty. */
  keys: DkimKey[];
  /** The domain of MAIL FROM, aligned with the From address. */
  returnPathHost: string;
  tlsRequired: boolean;
  trackingHost: string | null;
}

interface Known {
  domain: SigningDomain | undefined;
  readAtMs: number;
}

const KNOWN_MAX = 5_000;
const BELIEVED_MS = 60_000;
const BELIEVED_WITHOUT_NOTICES_MS = 1_000;

export class SigningKeys {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #sealer: Sealer;
  readonly #noticesArrive: () => boolean;
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<SigningDomain | undefined>>();
  #generation = 0;

  constructor(parts: { pool: Pool; clock: Clock; sealer: Sealer; noticesArrive: () => boolean }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#sealer = parts.sealer;
    this.#noticesArrive = parts.noticesArrive;
  }

  /**
   * Undefined when the workspace has no such domain, or one that may not send any more. Throws when a
   * key cannot be opened or the database does not answer: then the mail must wait, not leave unsigned.
   */
  async find(workspaceId: string, name: string): Promise<SigningDomain | undefined> {
    const key = `${workspaceId}/${name}`;
    const known = this.#known.get(key);
    const believedMs = this.#noticesArrive() ? BELIEVED_MS : BELIEVED_WITHOUT_NOTICES_MS;
    if (known && this.#clock.now() - known.readAtMs < believedMs) return known.domain;
    const running = this.#reading.get(key);
    if (running) return running;
    const reading = this.#read(workspaceId, name).finally(() => {
      if (this.#reading.get(key) === reading) this.#reading.delete(key);
    });
    this.#reading.set(key, reading);
    return reading;
  }

  /** Some domain of this workspace changed. */
  forgetWorkspace(workspaceId: string): void {
    this.#generation += 1;
    for (const name of this.#known.keys()) {
      if (name.startsWith(`${workspaceId}/`)) this.#known.delete(name);
    }
    // A read under way may have begun before the change: whoever asks from now on reads anew.
    this.#reading.clear();
  }

  forgetAll(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#reading.clear();
  }

  async #read(workspaceId: string, name: string): Promise<SigningDomain | undefined> {
    const generation = this.#generation;
    const readAtMs = this.#clock.now();
    const found = await findSigningDomain(this.#pool, workspaceId, name);
    const maySend = found?.domain.status === 'verified' || found?.domain.status === 'degraded';
    const domain = found && maySend ? this.#open(found) : undefined;
    // A change told while we read may be newer than what we read.
    if (generation === this.#generation) {
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.set(`${workspaceId}/${name}`, { domain, readAtMs });
    }
    return domain;
  }

  #open({ domain, keys }: { domain: Domain; keys: readonly SealedKey[] }): SigningDomain {
    const opened = keys
      .filter((key) => key.algorithm === 'rsa' || domain.trusted || isKeyFound(domain, key))
      .map((key) => ({
        algorithm: key.algorithm,
        domain: domain.name,
        selector: key.selector,
        privateKey: loadPrivateKey(this.#sealer.open(key.sealedPrivateKey).toString()),
      }));
    // Signing with no key at all would succeed, and the mail leave unsigned.
    assert(
      opened.some((key) => key.algorithm === 'rsa'),
      'every domain has an RSA key',
    );
    return {
      keys: opened,
      returnPathHost: domain.returnPathHost,
      tlsRequired: domain.tls === 'required',
      trackingHost: domain.trackingHost,
    };
  }
}
