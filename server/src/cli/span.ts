import { parseTime } from '../lib/rfc3339.ts';
import { UsageError } from './command.ts';

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Seconds of a span such as `90s`, `30m`, `24h`, `90d`. */
export function spanSeconds(option: string, text: string): number {
  const match = /^([0-9]{1,9})([smhdw])$/.exec(text);
  const seconds = Number(match?.[1]) * (UNITS[match?.[2] ?? ''] ?? Number.NaN);
  if (Number.isNaN(seconds)) {
    throw new UsageError(`--${option} takes a span such as 90s, 30m, 24h or 90d, not "${text}".`);
  }
  return seconds;
}

/** RFC 3339 has four digits for the year. */
const LAST_MS = Date.UTC(9999, 11, 31);

/** A moment: a span from now, or an RFC 3339 time. Returned as the API takes it. */
export function momentOf(option: string, text: string, nowMs: number): string {
  if (parseTime(text) !== undefined) return text;
  if (/^[0-9]+[a-z]$/.test(text)) {
    const atMs = nowMs + spanSeconds(option, text) * 1000;
    if (atMs > LAST_MS) throw new UsageError(`--${option} lies beyond the year 9999.`);
    return new Date(atMs).toISOString();
  }
  throw new UsageError(
    `--${option} takes a span such as 90d, or a time such as 2027-01-31T00:00:00Z, not "${text}".`,
  );
}
