import { type Backoff, DEFAULT_BACKOFF } from './retry-policy.ts';

/** What the engine may hold, and for how long: memory stays bounded by these, whatever waits. */
export interface EngineLimits {
  leaseMs: number;
  /** How long tries go on, when the message has no ttl of its own. */
  retryWindowMs: number;
  backoff: Backoff;
  pollMs: number;
  readyMax: number;
  /** Transactions prepared or on the wire at a time. */
  inFlightMax: number;
  /** Outcomes that may wait for storage before nothing more is sent. */
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
