/** `Date.parse` alone accepts too much, such as `2027` or a time without an offset. */
const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** An offset can move a time out of the range of four-digit years. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The milliseconds of an RFC 3339 time with an offset, or undefined if it is invalid. */
export function parseTime(text: string): number | undefined {
  const match = RFC3339.exec(text);
  if (!match || !isDay(Number(match[1]), Number(match[2]), Number(match[3]))) return undefined;
  const ms = Date.parse(text.toUpperCase());
  return ms >= FIRST_MS && ms <= LAST_MS ? ms : undefined;
}

/** `Date.parse` accepts February 30 as a day in March. */
function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** A time as the API shows it. */
export function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
