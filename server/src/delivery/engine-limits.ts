import type { Backoff } from './outcomes/retry-policy.ts';

/** Limits of the engine. They bound its memory, however much is queued. */
export interface EngineLimits extends FixedLimits {
  leaseMs: number;
  /** How long deliveries are retried when the message has no ttl. */
  retryWindowMs: number;
  backoff: Backoff;
  /** Transactions in preparation or in flight at a time. */
  inFlightMax: number;
}

interface FixedLimits {
  pollMs: number;
  /** Deliveries that may wait in memory at any pace. A fast node may hold more (ready-limit.ts). */
  readyMax: number;
  /** Outcomes that may wait for the database before sending stops. */
  unrecordedMax: number;
  contentBytesMax: number;
  /** Recipients of one message at one domain that share a transaction. */
  recipientsMax: number;
}

/**
 * Bounds the growth of `readyMax`: 40,000 deliveries. Contents have their own limit in bytes, and
 * 30,000 of 2 KB that were handed off took 90 MiB in all.
 */
export const READY_GROWTH_MAX = 10;

/** The limits without a setting. */
export const FIXED_LIMITS: FixedLimits = {
  pollMs: 1_000,
  readyMax: 4_000,
  unrecordedMax: 4_000,
  contentBytesMax: 64 * 1024 * 1024,
  recipientsMax: 50,
};
