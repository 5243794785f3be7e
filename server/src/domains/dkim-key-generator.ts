import { randomBytes } from 'node:crypto';
import { RefusedError } from '../lib/refused-error.ts';
import { createSealer, type Sealer } from '../lib/sealer.ts';
import { type GeneratedDkimKey, generateDkimKeys } from '../mail/dkim/keys.ts';
import type { DomainKey } from './domain.ts';

/** A key with its private half, sealed for storage: the only form in which it leaves this file. */
export interface SealedKey extends DomainKey {
  sealedPrivateKey: Buffer;
}

/** What the private halves are sealed and opened with. */
export function dkimSealer(secretKey: Buffer): Sealer {
  return createSealer(secretKey, 'dkim');
}

/** Finding primes keeps a thread busy that signatures wait for: never many at once. */
const CONCURRENCY_MAX = 2;
const WAITING_MAX = 50;

/** Makes the keys of domains, a few at a time. */
export class DkimKeyGenerator {
  readonly #sealer: Sealer;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** One RSA and one Ed25519 key, under selectors that nobody else's keys for the domain have. */
  async generate(slot: 'current' | 'next', nowMs: number): Promise<SealedKey[]> {
    await this.#acquireSlot();
    try {
      const { rsa, ed25519 } = await generateDkimKeys();
      // Two workspaces may send for one domain: their selectors lie side by side in its zone.
      const prefix = `pr-${randomBytes(5).toString('hex')}`;
      return [
        this.#sealKey(rsa, `${prefix}-rsa`, slot, nowMs),
        this.#sealKey(ed25519, `${prefix}-ed`, slot, nowMs),
      ];
    } finally {
      this.#releaseSlot();
    }
  }

  #sealKey(
    key: GeneratedDkimKey,
    selector: string,
    slot: 'current' | 'next',
    nowMs: number,
  ): SealedKey {
    return {
      selector,
      algorithm: key.algorithm,
      slot,
      dnsValue: key.txtValue,
      createdAtMs: nowMs,
      retiredAtMs: null,
      sealedPrivateKey: this.#sealer.seal(Buffer.from(key.privateKeyPem)),
    };
  }

  async #acquireSlot(): Promise<void> {
    if (this.#running < CONCURRENCY_MAX) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) {
      const detail = 'Too many keys are being made at this moment. Nothing was changed.';
      throw new RefusedError('overloaded', detail, { retryAfterSeconds: 5 });
    }
    // The place passes straight on, so that no newcomer slips in between.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #releaseSlot(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
