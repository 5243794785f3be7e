import { hash } from 'node:crypto';
import type { Pool } from '../../db/connections/pool.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  type AttemptLimit,
  countAttempt,
  deleteOldAttempts,
  refundAttempt,
  resetAttempts,
} from './attempt-store.ts';

/**
 * Throttles guessing. Every attempt at a password or a code is counted twice before it is made: for
 * the account and for its source network. The first few are free, then each must wait twice as long
 * as the one before. Accounts that do not exist are throttled like those that do.
 *
 * An account is throttled, never locked. From a network where its owner has signed in before it has
 * a separate count, so that an attacker cannot keep the owner out.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const LIMITS = {
  source: {
    free: 20,
    waitMs: 5 * SECOND_MS,
    waitMaxMs: 15 * MINUTE_MS,
    forgetMs: HOUR_MS,
  },
  password: {
    free: 5,
    waitMs: 5 * SECOND_MS,
    waitMaxMs: 5 * MINUTE_MS,
    forgetMs: HOUR_MS,
  },
  /** A code has only a million values: with the longest wait, a hundred attempts a day. */
  code: {
    free: 5,
    waitMs: 30 * SECOND_MS,
    waitMaxMs: 15 * MINUTE_MS,
    forgetMs: 24 * HOUR_MS,
  },
  email_change: {
    free: 3,
    waitMs: MINUTE_MS,
    waitMaxMs: HOUR_MS,
    forgetMs: 24 * HOUR_MS,
  },
  reset: {
    free: 3,
    waitMs: MINUTE_MS,
    waitMaxMs: HOUR_MS,
    forgetMs: 24 * HOUR_MS,
  },
} as const satisfies Record<string, AttemptLimit>;

export interface Attempt {
  kind: keyof typeof LIMITS;
  /** The account or the source network. */
  key: string;
}

const KEPT_MS = 25 * HOUR_MS;

export class AttemptLimits {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  /** Throws a RefusedError `too_many_attempts` when one of the attempts must wait. */
  async count(attempts: readonly Attempt[]): Promise<void> {
    for (const attempt of attempts) {
      const waitMs = await this.#countAndGetWait(attempt);
      if (waitMs === undefined) continue;
      const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS));
      const fix = `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
      throw new RefusedError('too_many_attempts', `Too many attempts. ${fix}`, {
        fix,
        retryAfterSeconds: seconds,
      });
    }
  }

  /** For expensive public operations: throttled by source network only. */
  async limitBySource<T>(ip: string, work: () => Promise<T>): Promise<T> {
    const attempts: Attempt[] = [{ kind: 'source', key: clientNetwork(ip) }];
    await this.count(attempts);
    const result = await work();
    await this.succeeded(attempts);
    return result;
  }

  /** For operations that must not reveal whether they are throttled. */
  async allows(attempt: Attempt): Promise<boolean> {
    return (await this.#countAndGetWait(attempt)) === undefined;
  }

  /**
   * The attempt succeeded. The account is reset; the source network gets only this attempt back,
   * because an attacker may have an account too.
   */
  async succeeded(attempts: readonly Attempt[]): Promise<void> {
    for (const attempt of attempts) {
      const subject = subjectHash(attempt);
      if (attempt.kind === 'source') await refundAttempt(this.#pool, subject);
      else await resetAttempts(this.#pool, subject);
    }
  }

  async sweep(): Promise<void> {
    await deleteOldAttempts(this.#pool, this.#clock.now() - KEPT_MS);
  }

  async #countAndGetWait(attempt: Attempt): Promise<number | undefined> {
    const nowMs = this.#clock.now();
    const limit = LIMITS[attempt.kind];
    const freeAtMs = await countAttempt(this.#pool, subjectHash(attempt), limit, nowMs);
    return freeAtMs === undefined ? undefined : freeAtMs - nowMs;
  }
}

function subjectHash({ kind, key: of }: Attempt): Buffer {
  return hash('sha256', `${kind}\n${of}`, 'buffer');
}
