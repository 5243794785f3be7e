import { randomBytes } from 'node:crypto';
import { createEncryptor, type Encryptor } from '../lib/crypto/encryption.ts';
import { RefusedError } from '../lib/refused-error.ts';
import {
  type GenerateDkimKeys,
  type GeneratedDkimKey,
  generateDkimKeys,
} from '../mail/dkim/keys.ts';
import type { DomainKey } from './domain.ts';

/** A key with its encrypted private key, the only form in which private keys leave this file. */
export interface EncryptedDomainKey extends DomainKey {
  encryptedPrivateKey: Buffer;
}

/** Encrypts and decrypts private keys. */
export function dkimEncryptor(secretKey: Buffer): Encryptor {
  return createEncryptor(secretKey, 'dkim');
}

/**
 * Generating primes occupies a thread of the pool that signing needs, so concurrency is limited.
 */
const CONCURRENCY_MAX = 2;
const WAITING_MAX = 50;

/** Generates the DKIM keys of domains, a few at a time. */
export class DkimKeyGenerator {
  readonly #encryptor: Encryptor;
  readonly #generateKeys: GenerateDkimKeys;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(encryptor: Encryptor, generateKeys: GenerateDkimKeys = generateDkimKeys) {
    this.#encryptor = encryptor;
    this.#generateKeys = generateKeys;
  }

  /** One RSA and one Ed25519 key, with selectors unique to this workspace. */
  async generate(slot: 'current' | 'next', nowMs: number): Promise<EncryptedDomainKey[]> {
    await this.#acquireSlot();
    try {
      const { rsa, ed25519 } = await this.#generateKeys();
      // Two workspaces may send for one domain, so their selectors share its zone.
      const prefix = `pr-${randomBytes(5).toString('hex')}`;
      return [
        this.#encryptKey(rsa, `${prefix}-rsa`, slot, nowMs),
        this.#encryptKey(ed25519, `${prefix}-ed`, slot, nowMs),
      ];
    } finally {
      this.#releaseSlot();
    }
  }

  #encryptKey(
    key: GeneratedDkimKey,
    selector: string,
    slot: 'current' | 'next',
    nowMs: number,
  ): EncryptedDomainKey {
    return {
      selector,
      algorithm: key.algorithm,
      slot,
      dnsValue: key.txtValue,
      createdAtMs: nowMs,
      retiredAtMs: null,
      encryptedPrivateKey: this.#encryptor.encrypt(Buffer.from(key.privateKeyPem)),
    };
  }

  async #acquireSlot(): Promise<void> {
    if (this.#running < CONCURRENCY_MAX) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) {
      const detail = 'Too many keys are being generated right now. Nothing was changed.';
      throw new RefusedError('overloaded', detail, { retryAfterSeconds: 5 });
    }
    // Hand the slot over directly, so that a newcomer cannot take it in between.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #releaseSlot(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
