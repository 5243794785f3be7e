import pg from 'pg';

/**
 * Conversion of values between PostgreSQL and JavaScript. Times are milliseconds since the epoch in
 * JavaScript: timestamptz is read as a number and written as the ISO text of `sqlTime`. int8 is read
 * as a number; a value outside the safe range throws. date and numeric stay text.
 */
export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (format !== 'binary') {
      const parse = TEXT_PARSERS.get(oid);
      if (parse) return parse;
    }
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

/** A time as a query parameter, for `timestamptz` and `timestamptz[]`. */
export function sqlTime(ms: number): string;
export function sqlTime(ms: number | null): string | null;
export function sqlTime(ms: number | null): string | null {
  if (ms === null) return null;
  if (ms !== lastMs) {
    lastText = timeText(ms);
    lastMs = ms;
  }
  return lastText;
}

/** Time arithmetic can leave the range of four-digit years, which is all that PostgreSQL parses. */
function timeText(ms: number): string {
  if (ms < FIRST_MS) return '-infinity';
  return ms > LAST_MS ? 'infinity' : new Date(ms).toISOString();
}

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The rows of one message repeat the same time, so the last conversion is cached. */
let lastMs = 0;
let lastText = new Date(0).toISOString();

const INT8 = 20;
const INT8_ARRAY = 1016;
const DATE = 1082;
const TIMESTAMP = 1114;
const TIMESTAMPTZ = 1184;
const TIMESTAMPTZ_ARRAY = 1185;
const TEXT_ARRAY = 1009;

const parseTextArray = pg.types.getTypeParser(TEXT_ARRAY as number) as unknown as (
  text: string,
) => (string | null)[];

const TEXT_PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, parseInt8],
  [INT8_ARRAY, arrayOf(parseInt8)],
  [TIMESTAMPTZ, parseTimestamp],
  [TIMESTAMPTZ_ARRAY, arrayOf(parseTimestamp)],
  // The schema has no timestamps without a time zone; they would be returned as text.
  [TIMESTAMP, String],
  [DATE, String],
]);

function arrayOf<T>(parse: (text: string) => T): (text: string) => (T | null)[] {
  return (text) => parseTextArray(text).map((item) => (item === null ? null : parse(item)));
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} does not fit a number`);
  return value;
}

/** Parses PostgreSQL's ISO style, "2026-11-09 12:00:00.123456+00". The session time zone is UTC. */
function parseTimestamp(text: string): number {
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  const ms = Date.parse(`${text.slice(0, 10)}T${text.slice(11, 23).replace(/\+.*$/, '')}Z`);
  if (!text.endsWith('+00') || Number.isNaN(ms)) {
    throw new RangeError(`"${text}" is not a time in UTC`);
  }
  return ms;
}
