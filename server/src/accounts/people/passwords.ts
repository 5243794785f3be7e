import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Password hashes: scrypt with the parameters that OWASP recommends, in PHC format so that they can
 * be raised later. Hashing runs off the main thread with limited concurrency, because it shares the
 * thread pool with everything else and each hash takes 32 MB.
 */

export interface PasswordCost {
  /** The binary logarithm of scrypt's N. */
  ln: number;
  r: number;
  p: number;
}

const DEFAULT_COST: PasswordCost = { ln: 15, r: 8, p: 3 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const CONCURRENCY_MAX = 2;
const WAITING_MAX = 100;

export class Passwords {
  readonly #cost: PasswordCost;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(cost: PasswordCost = DEFAULT_COST) {
    this.#cost = cost;
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const { ln, r, p } = this.#cost;
    const key = await this.#derive(password, salt, this.#cost);
    return `$scrypt$ln=${ln},r=${r},p=${p}$${unpaddedBase64(salt)}$${unpaddedBase64(key)}`;
  }

  /**
   * Without a hash (the address has no account, or the account no password) the same work is done, and
   * the result is false.
   */
  async verify(hash: string | null | undefined, password: string): Promise<boolean> {
    const stored = hash === undefined || hash === null ? undefined : parseHash(hash);
    const { salt, key, ...cost } = stored ?? {
      ...this.#cost,
      salt: randomBytes(SALT_BYTES),
      key: randomBytes(KEY_BYTES),
    };
    const derived = await this.#derive(password, salt, cost);
    return timingSafeEqual(derived, key) && stored !== undefined;
  }

  async #derive(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
    await this.#acquireSlot();
    try {
      return await derive(password, salt, cost);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }

  /** A finished hash passes its slot to the next in line, so that order is kept. */
  #acquireSlot(): Promise<void> {
    if (this.#running < CONCURRENCY_MAX) {
      this.#running += 1;
      return Promise.resolve();
    }
    if (this.#waiting.length >= WAITING_MAX) {
      const fix = 'Try again in a few seconds.';
      throw new RefusedError('too_many_attempts', `Too many sign-ins at the moment. ${fix}`, {
        fix,
        retryAfterSeconds: 5,
      });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

function derive(password: string, salt: Buffer, { ln, r, p }: PasswordCost): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: 2 ** ln * r * 256 };
  return new Promise((resolve, reject) => {
    // Keyboards may produce the same characters in different Unicode normalizations.
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

const HASH = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

function parseHash(hash: string) {
  const match = HASH.exec(hash);
  if (!match) throw new Error('Broken invariant: a stored password hash has our format');
  const [, ln, r, p, salt = '', key = ''] = match;
  return {
    ln: Number(ln),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64'),
    key: Buffer.from(key, 'base64'),
  };
}

function unpaddedBase64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
