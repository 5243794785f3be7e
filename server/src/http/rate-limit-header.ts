import type { RateDecision } from '../accounts/rate-limit.ts';

/** The `RateLimit` field of the IETF draft "RateLimit header fields for HTTP". */
export function rateLimitHeader(
  name: 'workspace' | 'person' | 'network' | 'operator',
  decision: RateDecision,
): string {
  return `"${name}";r=${decision.remaining};t=${decision.retryAfterSeconds || 1}`;
}
