import { type Backoff, DEFAULT_BACKOFF } from './retry-policy.ts';

/** Limits of the engine. They bound its memory, however much is queued. */
export interface EngineLimits {
  leaseMs: number;
  /** How long deliveries are retried when the message has no ttl. */
  retryWindowMs: number;
  backoff: Backoff;
  pollMs: number;
  readyMax: number;
  /** Transactions in preparation or in flight at a time. */
  inFlightMax: number;
  /** Outcomes that may wait for the database before sending stops. */
  unrecordedMax: number;
  contentBytesMax: number;
  /** Recipients of one message at one domain that share a transaction. */
  recipientsMax: number;
}

export const DEFAULT_LIMITS: EngineLimits = {
  leaseMs: 120_000,
  retryWindowMs: 72 * 3_600_000,
  backoff: DEFAULT_BACKOFF,
  pollMs: 500,
  readyMax: 4_000,
  inFlightMax: 500,
  unrecordedMax: 4_000,
  contentBytesMax: 64 * 1024 * 1024,
  recipientsMax: 50,
};
