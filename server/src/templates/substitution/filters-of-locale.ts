import { type FilterCall, type FilterSpec, ValueProblem } from './filter-spec.ts';
import type { Run } from './run.ts';
import { strftime, type WallTime, wallTime } from './strftime.ts';
import { shown, toNumber, toText } from './values.ts';

/** Measured beside other filters: Intl is slow, and strftime asks it several times. */
const FORMAT_COST = 60;
const STRFTIME_COST = 200;
const MAKING_COST = 500;

/** Money, numbers and dates in the send's locale and time zone, by Intl. */
export const LOCALE_FILTERS: readonly [string, FilterSpec][] = [
  ['money', { apply: money, argsMin: 1, argsMax: 1, expects: 'number', cost: FORMAT_COST }],
  ['number', { apply: number, argsMin: 0, argsMax: 1, expects: 'number', cost: FORMAT_COST }],
  ['percent', { apply: percent, argsMin: 0, argsMax: 1, expects: 'number', cost: FORMAT_COST }],
  ['pluralize', { apply: pluralize, argsMin: 0, argsMax: 2, expects: 'number', cost: FORMAT_COST }],
  ['date', { apply: date, argsMin: 0, argsMax: 2, expects: 'date', cost: FORMAT_COST }],
];

/** Making a formatter costs a hundred times its use; callers choose the keys, so it is bounded. */
const FORMATTERS_MAX = 500;
const formatters = new Map<string, Format>();

type Format = Intl.NumberFormat | Intl.DateTimeFormat | Intl.PluralRules;

function money(value: unknown, { args, run }: FilterCall): string {
  const amount = toNumber(value);
  const currency = toText(args[0], run).toUpperCase();
  if (!/^[A-Z]{3}$/.test(currency)) {
    throw new ValueProblem(`${shown(args[0])} is not a currency code such as "EUR".`);
  }
  const { locale } = run.settings;
  return cached(run, `money ${locale} ${currency}`, () => {
    return new Intl.NumberFormat(locale, { style: 'currency', currency });
  }).format(amount);
}

function number(value: unknown, { args, run }: FilterCall): string {
  return decimal(toNumber(value), args[0], run, 'decimal');
}

/** `0.25 | percent` is 25 %. */
function percent(value: unknown, { args, run }: FilterCall): string {
  return decimal(toNumber(value), args[0], run, 'percent');
}

function decimal(value: number, digits: unknown, run: Run, style: 'decimal' | 'percent'): string {
  const { locale } = run.settings;
  const fixed = digits === undefined ? -1 : Math.min(20, Math.max(0, Math.trunc(toNumber(digits))));
  return cached(run, `${style} ${locale} ${fixed}`, () => {
    const options: Intl.NumberFormatOptions = { style };
    if (fixed >= 0) {
      options.minimumFractionDigits = fixed;
      options.maximumFractionDigits = fixed;
    }
    return new Intl.NumberFormat(locale, options);
  }).format(value);
}

const STYLES = new Set(['full', 'long', 'medium', 'short']);

/**
 * `date: "long"` (and full, medium, short), `date: "%d.%m.%Y"`; a second argument names the zone.
 * A date without a time, or a time without an offset, is shown as written in every zone.
 */
function date(value: unknown, { args, run }: FilterCall): string {
  const zone = args.length > 1 ? toText(args[1], run) : run.settings.timeZone;
  const moment = parseMoment(value, run);
  const timeZone = moment.floating ? 'UTC' : zone;
  const format = args.length > 0 ? toText(args[0], run) : 'medium';
  const { locale } = run.settings;
  if (STYLES.has(format)) {
    const dateStyle = format as 'full' | 'long' | 'medium' | 'short';
    return dateFormat(run, locale, timeZone, `style ${format}`, { dateStyle }).format(moment.ms);
  }
  if (!format.includes('%')) throw new ValueProblem(noFormat(format));
  run.budget.spend(STRFTIME_COST, run.settings.field);
  return strftime(format, wallTimeIn(run, moment.ms, timeZone), moment.ms, {
    name: (part, style) => {
      return dateFormat(run, locale, timeZone, `${part} ${style}`, { [part]: style }).format(
        moment.ms,
      );
    },
    zone: timeZone,
  });
}

/** Other languages write `DD.MM.YYYY`; nobody should receive that. */
function noFormat(format: string): string {
  const meant = format
    .replace(/YYYY|yyyy/, '%Y')
    .replace('MM', '%m')
    .replace(/DD|dd/, '%d')
    .replace(/HH/, '%H')
    .replace('mm', '%M');
  const example = meant.includes('%') && meant.length <= 40 ? meant : '%d.%m.%Y';
  return `${shown(format)} is not a format. Write "${example}", or full, long, medium or short.`;
}

/**
 * `pluralize: "item", "items"`, or the forms that a language has by their names:
 * `pluralize: one: "plik", few: "pliki", many: "plików", other: "pliku"`.
 */
function pluralize(value: unknown, { args, named, run }: FilterCall): string {
  const { locale } = run.settings;
  const amount = toNumber(value);
  const rules = cached(run, `plural ${locale}`, () => new Intl.PluralRules(locale));
  const form = rules.select(amount);
  const words =
    args.length === 0
      ? named
      : new Map([
          ['one', args[0]],
          ['other', args[1]],
        ]);
  const word = words.get(form) ?? words.get('other');
  if (word === undefined) {
    throw new ValueProblem('It takes two words, or named ones with `other:` among them.');
  }
  return toText(word, run);
}

interface Moment {
  ms: number;
  /** Written without an offset: a date or time on the wall, not a moment of the world. */
  floating: boolean;
}

const ISO_LIKE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?$/;

function parseMoment(value: unknown, run: Run): Moment {
  const { nowMs } = run.settings;
  if (value instanceof Date) return valid(value.getTime(), false, value);
  if (typeof value === 'number') return valid(fromNumber(value), false, value);
  const text = toText(value, run).trim();
  if ((text === 'now' || text === 'today') && nowMs !== undefined) {
    return { ms: nowMs, floating: false };
  }
  if (/^-?\d{1,16}$/.test(text)) return valid(fromNumber(Number(text)), false, value);
  const iso = ISO_LIKE.exec(text);
  if (iso) return valid(Date.parse(`${iso[1]}T${iso[2] ?? '00:00'}Z`), true, value);
  // Without a zone JavaScript would read the machine's own.
  const zoned = /(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$/i.test(text);
  return valid(
    text.length > 64 ? Number.NaN : Date.parse(zoned ? text : `${text} UTC`),
    !zoned,
    value,
  );
}

/** Liquid counts seconds, JavaScript milliseconds; no date of a mail lies in both ranges. */
function fromNumber(value: number): number {
  return Math.abs(value) < 1e11 ? value * 1000 : value;
}

function valid(ms: number, floating: boolean, value: unknown): Moment {
  if (Number.isNaN(ms) || Math.abs(ms) > 8.64e15)
    throw new ValueProblem(`${shown(value)} is not a date.`);
  return { ms, floating };
}

function wallTimeIn(run: Run, ms: number, timeZone: string): WallTime {
  const parts = dateFormat(run, 'en-US', timeZone, 'wall', {
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
    era: 'short',
  }).formatToParts(ms);
  return wallTime(parts, ms);
}

function dateFormat(
  run: Run,
  locale: string,
  timeZone: string,
  key: string,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  return cached(run, `date ${locale} ${timeZone} ${key}`, () => {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone });
  });
}

function cached<F extends Format>(run: Run, key: string, make: () => F): F {
  const known = formatters.get(key);
  if (known) return known as F;
  run.spend(MAKING_COST);
  let made: F;
  try {
    made = make();
  } catch {
    throw new ValueProblem(`The locale, currency or time zone is not known (${key.slice(0, 60)}).`);
  }
  if (formatters.size >= FORMATTERS_MAX) formatters.clear();
  formatters.set(key, made);
  return made;
}
