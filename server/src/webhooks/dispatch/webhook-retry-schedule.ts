/**
 * When a failed webhook is retried: nine times over three days. The first delay is short, because
 * most failures are a deployment or a lost packet.
 */
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

/** Retry-After may exceed the schedule up to this bound. */
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;
/** Events that failed together must not all be retried at the same moment. */
const JITTER = 0.2;

/**
 * The delay after the nth failed attempt of a delivery cycle, or undefined when it was the last.
 * `random` is in [0, 1). Retry-After can only extend it.
 */
export function nextRetryDelayMs(
  attempts: number,
  random: number,
  retryAfterMs: number | undefined,
): number | undefined {
  const plannedMs = RETRY_DELAYS_MS[attempts - 1];
  if (plannedMs === undefined) return undefined;
  const jitteredMs = plannedMs * (1 - JITTER / 2 + JITTER * random);
  return Math.round(Math.max(jitteredMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS)));
}

/** Retry-After is seconds or an HTTP date (RFC 9110 section 10.2.3); anything else is ignored. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text.trim()) * SECOND_MS;
  // HTTP dates start with the weekday; Date.parse accepts other formats too.
  const atMs = /^[A-Z][a-z]{2},/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
