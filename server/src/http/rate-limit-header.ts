import type { RateDecision } from '../accounts/rate-limit.ts';

/** Whose requests are counted: all of a workspace but its reads, its reads, or all of another client. */
export type Limited = 'workspace' | 'reads' | 'person' | 'network' | 'operator';

/** The `RateLimit` field of the IETF draft "RateLimit header fields for HTTP". */
export function rateLimitHeader(name: Limited, decision: RateDecision): string {
  return `"${name}";r=${decision.remaining};t=${decision.retryAfterSeconds || 1}`;
}
