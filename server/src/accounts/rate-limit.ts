import { type Clock, pause } from '../lib/time/clock.ts';

/**
 * A token bucket per workspace, and one per signed-in user: `perSecond` requests per second with
 * bursts of `burst`, where each message of a batch counts as a request. Kept in memory, because a
 * database query would cost more than most requests.
 */

/**
 * The limits of what workspaces do with API keys. Reads have buckets of their own, so that the messages of a
 * large batch can be looked up while the batch is still being paid for.
 */
export interface WorkspaceLimiters {
  /** Sends and changes. Also of signed-in users and operator keys, whose reads are not counted apart. */
  rateLimiter: RateLimiter;
  readRateLimiter: RateLimiter;
}

export interface RateDecision {
  limit: RateLimit;
  allowed: boolean;
  remaining: number;
  /** Whole seconds until a request is allowed again; 0 when it is allowed now. */
  retryAfterSeconds: number;
}

export interface RateLimit {
  perSecond: number;
  burst: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
  /** How many wait for their turn. */
  waiting: number;
}

const BUCKETS_MAX = 100_000;
const OWN_BURST_SECONDS = 2;
/** Shorter than the timeouts of common client libraries, of which 30 seconds is the shortest. */
const WAIT_MS_MAX = 25_000;
const WAITING_MAX = 16;

export class RateLimiter {
  readonly #usual: RateLimit;
  readonly #ownPerSecond: (id: string) => number | undefined;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  /** `ownPerSecond` returns the rate of those that have one of their own. */
  constructor(
    perSecond: number,
    burst: number,
    clock: Clock,
    ownPerSecond: (id: string) => number | undefined = () => undefined,
  ) {
    this.#usual = { perSecond, burst };
    this.#clock = clock;
    this.#ownPerSecond = ownPerSecond;
  }

  limitOf(id: string): RateLimit {
    const perSecond = this.#ownPerSecond(id);
    if (perSecond === undefined) return this.#usual;
    return { perSecond, burst: perSecond * OWN_BURST_SECONDS };
  }

  take(id: string): RateDecision {
    const limit = this.limitOf(id);
    const bucket = this.#filled(id, limit);
    if (bucket.tokens < 1) {
      const retryAfterSeconds = waitSeconds(bucket, limit);
      return { limit, allowed: false, remaining: 0, retryAfterSeconds };
    }
    bucket.tokens -= 1;
    return { limit, allowed: true, remaining: Math.floor(bucket.tokens), retryAfterSeconds: 0 };
  }

  /**
   * Takes the next free place, for a caller that would not try again, and resolves when its turn has
   * come. Undefined if that would take too long, or too many wait already.
   */
  waitForTurn(id: string): Promise<void> | undefined {
    const limit = this.limitOf(id);
    const bucket = this.#filled(id, limit);
    const waitMs = Math.ceil(((1 - bucket.tokens) / limit.perSecond) * 1000);
    if (waitMs > WAIT_MS_MAX || bucket.waiting >= WAITING_MAX) return undefined;
    bucket.tokens -= 1;
    bucket.waiting += 1;
    return pause(this.#clock, waitMs).then(() => {
      bucket.waiting -= 1;
    });
  }

  /**
   * Counts further messages of a request that was allowed. It may overdraw the bucket, because a batch
   * can be larger than the burst; later requests then wait until the debt is paid.
   */
  charge(id: string, count: number): RateDecision {
    const limit = this.limitOf(id);
    const bucket = this.#filled(id, limit);
    bucket.tokens -= count;
    return {
      limit,
      allowed: true,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      retryAfterSeconds: bucket.tokens < 1 ? waitSeconds(bucket, limit) : 0,
    };
  }

  #filled(id: string, { perSecond, burst }: RateLimit): Bucket {
    const nowMs = this.#clock.now();
    const bucket = this.#buckets.get(id);
    if (!bucket) {
      // A full bucket equals a missing one, so clearing all of them only forgives usage and bounds
      // memory.
      if (this.#buckets.size >= BUCKETS_MAX) this.#buckets.clear();
      const fresh = { tokens: burst, filledAtMs: nowMs, waiting: 0 };
      this.#buckets.set(id, fresh);
      return fresh;
    }
    const gained = ((nowMs - bucket.filledAtMs) / 1000) * perSecond;
    bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, gained));
    bucket.filledAtMs = nowMs;
    return bucket;
  }
}

function waitSeconds({ tokens }: Bucket, { perSecond }: RateLimit): number {
  return Math.max(1, Math.ceil((1 - tokens) / perSecond));
}
