import { parseTime } from '../lib/time/rfc3339.ts';
import { UsageError } from './command.ts';

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** The seconds of a duration such as `90s`, `30m`, `24h`, `90d`. */
export function parseDuration(option: string, text: string): number {
  const match = /^([0-9]{1,9})([smhdw])$/.exec(text);
  const seconds = Number(match?.[1]) * (UNITS[match?.[2] ?? ''] ?? Number.NaN);
  if (Number.isNaN(seconds)) {
    throw new UsageError(
      `--${option} must be a duration such as 90s, 30m, 24h or 90d, not "${text}".`,
    );
  }
  return seconds;
}

/** RFC 3339 years have four digits. */
const LAST_MS = Date.UTC(9999, 11, 31);

/** A duration from now, or an RFC 3339 time. Returned in the API's format. */
export function parseTimeOrDuration(option: string, text: string, nowMs: number): string {
  if (parseTime(text) !== undefined) return text;
  if (/^[0-9]+[a-z]$/.test(text)) {
    const atMs = nowMs + parseDuration(option, text) * 1000;
    if (atMs > LAST_MS) throw new UsageError(`--${option} is beyond the year 9999.`);
    return new Date(atMs).toISOString();
  }
  throw new UsageError(
    `--${option} must be a duration such as 90d, or a time such as 2027-01-31T00:00:00Z, not "${text}".`,
  );
}
