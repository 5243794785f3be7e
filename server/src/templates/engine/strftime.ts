import { ValueError } from './values.ts';

/** The local date and time of an instant in some time zone. */
export interface LocalTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
  weekday: number;
  offsetMinutes: number;
}

export interface LocaleNames {
  name(part: 'month' | 'weekday', style: 'long' | 'short'): string;
  zone: string;
}

/** Converts the parts that Intl formats to numbers, and derives the zone's offset from them. */
export function toLocalTime(parts: readonly Intl.DateTimeFormatPart[], ms: number): LocalTime {
  const read = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const bc = parts.some((part) => part.type === 'era' && part.value.startsWith('B'));
  const year = bc ? 1 - read('year') : read('year');
  const [month, day, hour] = [read('month'), read('day'), read('hour')];
  const [minute, second] = [read('minute'), read('second')];
  const local = Date.UTC(2000, month - 1, day, hour, minute, second);
  const asUtc = new Date(local).setUTCFullYear(year, month - 1, day);
  const millisecond = ((ms % 1000) + 1000) % 1000;
  const offsetMinutes = Math.round((asUtc - (ms - millisecond)) / 60_000);
  const weekday = new Date(asUtc).getUTCDay();
  return { year, month, day, hour, minute, second, millisecond, weekday, offsetMinutes };
}

const DIRECTIVE = /%([-_0^]?)(\d{0,2})(:?)([A-Za-z%])/g;
const FORMAT_MAX_CHARS = 256;
const WIDTHS: Record<string, number> = { Y: 4, L: 3, j: 3, e: 2, k: 2, l: 2 };
const UNPADDED = new Set(['s', 'u', 'w']);

/** The part of Ruby's strftime that emails use. */
export function strftime(format: string, time: LocalTime, ms: number, names: LocaleNames): string {
  if (format.length > FORMAT_MAX_CHARS) {
    throw new ValueError(`A date format can have at most ${FORMAT_MAX_CHARS} characters.`);
  }
  return format.replace(
    DIRECTIVE,
    (whole, flag: string, width: string, colon: string, code: string) => {
      const value = directive(code, colon, time, ms, names);
      if (value === undefined) return whole;
      if (typeof value === 'string') return flag === '^' ? value.toUpperCase() : value;
      if (flag === '-') return String(value);
      const fill = flag === '_' || 'ekl'.includes(code) ? ' ' : '0';
      const wanted = width !== '' ? Number(width) : UNPADDED.has(code) ? 0 : (WIDTHS[code] ?? 2);
      return String(value).padStart(wanted, flag === '0' ? '0' : fill);
    },
  );
}

function directive(
  code: string,
  colon: string,
  time: LocalTime,
  ms: number,
  names: LocaleNames,
): string | number | undefined {
  switch (code) {
    case 'Y':
      return time.year;
    case 'y':
      return ((time.year % 100) + 100) % 100;
    case 'm':
      return time.month;
    case 'd':
    case 'e':
      return time.day;
    case 'H':
    case 'k':
      return time.hour;
    case 'I':
    case 'l':
      return time.hour % 12 || 12;
    case 'M':
      return time.minute;
    case 'S':
      return time.second;
    case 'L':
      return time.millisecond;
    case 'j':
      return (
        Math.round((Date.UTC(2000, time.month - 1, time.day) - Date.UTC(2000, 0, 0)) / 86_400_000) -
        leapCorrection(time)
      );
    case 'p':
      return time.hour < 12 ? 'AM' : 'PM';
    case 'P':
      return time.hour < 12 ? 'am' : 'pm';
    case 'B':
      return names.name('month', 'long');
    case 'b':
    case 'h':
      return names.name('month', 'short');
    case 'A':
      return names.name('weekday', 'long');
    case 'a':
      return names.name('weekday', 'short');
    case 'u':
      return time.weekday || 7;
    case 'w':
      return time.weekday;
    case 's':
      return Math.floor(ms / 1000);
    case 'Z':
      return names.zone;
    case 'z':
      return offset(time.offsetMinutes, colon);
    case 'F':
      return `${time.year}-${pad2(time.month)}-${pad2(time.day)}`;
    case 'T':
    case 'X':
      return `${pad2(time.hour)}:${pad2(time.minute)}:${pad2(time.second)}`;
    case 'R':
      return `${pad2(time.hour)}:${pad2(time.minute)}`;
    case 'D':
    case 'x':
      return `${pad2(time.month)}/${pad2(time.day)}/${pad2(time.year % 100)}`;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '%':
      return '%';
    default:
      return undefined;
  }
}

/** 2000 was a leap year; in other years, dates after February are one day behind it. */
function leapCorrection({ year, month }: LocalTime): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month > 2 && !leap ? 1 : 0;
}

function offset(minutes: number, colon: string): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${pad2(Math.floor(size / 60))}${colon}${pad2(size % 60)}`;
}

function pad2(value: number): string {
  return String(value).padStart(2, '0');
}
