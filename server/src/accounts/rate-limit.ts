import type { Clock } from '../lib/clock.ts';

/**
 * A token bucket per workspace, and one per signed-in user: `perSecond` requests per second with
 * bursts of `burst`, where each message of a batch counts as a request. Kept in memory, because a
 * database query would cost more than most requests.
 */

export interface RateDecision {
  allowed: boolean;
  remaining: number;
  /** Whole seconds until a request is allowed again; 0 when it is allowed now. */
  retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

const BUCKETS_MAX = 100_000;

export class RateLimiter {
  readonly perSecond: number;
  readonly burst: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.perSecond = perSecond;
    this.burst = burst;
    this.#clock = clock;
  }

  take(workspaceId: string): RateDecision {
    const bucket = this.#filled(workspaceId);
    if (bucket.tokens < 1) {
      return { allowed: false, remaining: 0, retryAfterSeconds: this.#waitSeconds(bucket) };
    }
    bucket.tokens -= 1;
    return { allowed: true, remaining: Math.floor(bucket.tokens), retryAfterSeconds: 0 };
  }

  /**
   * Counts further messages of a request that was allowed. It may overdraw the bucket, because a batch
   * can be larger than the burst; later requests then wait until the debt is paid.
   */
  charge(workspaceId: string, count: number): RateDecision {
    const bucket = this.#filled(workspaceId);
    bucket.tokens -= count;
    return {
      allowed: true,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      retryAfterSeconds: bucket.tokens < 1 ? this.#waitSeconds(bucket) : 0,
    };
  }

  #waitSeconds({ tokens }: Bucket): number {
    return Math.max(1, Math.ceil((1 - tokens) / this.perSecond));
  }

  #filled(workspaceId: string): Bucket {
    const nowMs = this.#clock.now();
    const bucket = this.#buckets.get(workspaceId);
    if (!bucket) {
      // A full bucket equals a missing one, so clearing all of them only forgives usage and bounds
      // memory.
      if (this.#buckets.size >= BUCKETS_MAX) this.#buckets.clear();
      const fresh = { tokens: this.burst, filledAtMs: nowMs };
      this.#buckets.set(workspaceId, fresh);
      return fresh;
    }
    const gained = ((nowMs - bucket.filledAtMs) / 1000) * this.perSecond;
    bucket.tokens = Math.min(this.burst, bucket.tokens + Math.max(0, gained));
    bucket.filledAtMs = nowMs;
    return bucket;
  }
}
