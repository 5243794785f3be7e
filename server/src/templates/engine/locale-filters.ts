import type { FilterCall, FilterSpec } from './filter-spec.ts';
import type { RenderState } from './render-state.ts';
import { type LocalTime, strftime, toLocalTime } from './strftime.ts';
import { describe, toNumber, toText, ValueError } from './values.ts';

/** Measured relative to other filters: Intl is slow, and strftime calls it several times. */
const FORMAT_COST = 60;
const STRFTIME_COST = 200;
const CREATE_FORMATTER_COST = 500;

/** Money, numbers and dates formatted with Intl for the locale and time zone of the send. */
export const LOCALE_FILTERS: readonly [string, FilterSpec][] = [
  ['money', { apply: money, argsMin: 1, argsMax: 1, expects: 'number', cost: FORMAT_COST }],
  ['number', { apply: number, argsMin: 0, argsMax: 1, expects: 'number', cost: FORMAT_COST }],
  ['percent', { apply: percent, argsMin: 0, argsMax: 1, expects: 'number', cost: FORMAT_COST }],
  ['pluralize', { apply: pluralize, argsMin: 0, argsMax: 2, expects: 'number', cost: FORMAT_COST }],
  ['date', { apply: date, argsMin: 0, argsMax: 2, expects: 'date', cost: FORMAT_COST }],
];

/** Creating a formatter costs a hundred times as much as using it. Callers choose the keys, so the cache is bounded. */
const FORMATTERS_MAX = 500;
const formatters = new Map<string, Format>();

type Format = Intl.NumberFormat | Intl.DateTimeFormat | Intl.PluralRules;

function money(value: unknown, { args, state }: FilterCall): string {
  const amount = toNumber(value);
  const currency = toText(args[0], state).toUpperCase();
  if (!/^[A-Z]{3}$/.test(currency)) {
    throw new ValueError(`${describe(args[0])} is not a currency code such as "EUR".`);
  }
  const { locale } = state.settings;
  return cachedFormatter(state, `money ${locale} ${currency}`, () => {
    return new Intl.NumberFormat(locale, { style: 'currency', currency });
  }).format(amount);
}

function number(value: unknown, { args, state }: FilterCall): string {
  return decimal(toNumber(value), args[0], state, 'decimal');
}

/** `0.25 | percent` is 25%. */
function percent(value: unknown, { args, state }: FilterCall): string {
  return decimal(toNumber(value), args[0], state, 'percent');
}

function decimal(
  value: number,
  digits: unknown,
  state: RenderState,
  style: 'decimal' | 'percent',
): string {
  const { locale } = state.settings;
  const fixed = digits === undefined ? -1 : Math.min(20, Math.max(0, Math.trunc(toNumber(digits))));
  return cachedFormatter(state, `${style} ${locale} ${fixed}`, () => {
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
 * `date: "long"` (or full, medium, short) or `date: "%d.%m.%Y"`; a second argument names the time zone.
 * A date without a time, or a time without an offset, is shown as written in every zone.
 */
function date(value: unknown, { args, state }: FilterCall): string {
  const zone = args.length > 1 ? toText(args[1], state) : state.settings.timeZone;
  const instant = parseInstant(value, state);
  const timeZone = instant.floating ? 'UTC' : zone;
  const format = args.length > 0 ? toText(args[0], state) : 'medium';
  const { locale } = state.settings;
  if (STYLES.has(format)) {
    const dateStyle = format as 'full' | 'long' | 'medium' | 'short';
    return dateFormat(state, locale, timeZone, `style ${format}`, { dateStyle }).format(instant.ms);
  }
  if (!format.includes('%')) throw new ValueError(invalidFormat(format));
  state.budget.spend(STRFTIME_COST, state.settings.field);
  return strftime(format, localTimeIn(state, instant.ms, timeZone), instant.ms, {
    name: (part, style) => {
      return dateFormat(state, locale, timeZone, `${part} ${style}`, { [part]: style }).format(
        instant.ms,
      );
    },
    zone: timeZone,
  });
}

/** Suggests the strftime form of formats such as `DD.MM.YYYY`, which must never reach a recipient. */
function invalidFormat(format: string): string {
  const meant = format
    .replace(/YYYY|yyyy/, '%Y')
    .replace('MM', '%m')
    .replace(/DD|dd/, '%d')
    .replace(/HH/, '%H')
    .replace('mm', '%M');
  const example = meant.includes('%') && meant.length <= 40 ? meant : '%d.%m.%Y';
  return `${describe(format)} is not a date format. Use "${example}", or full, long, medium or short.`;
}

/**
 * `pluralize: "item", "items"`, or the plural forms of a language by name:
 * `pluralize: one: "plik", few: "pliki", many: "plików", other: "pliku"`.
 */
function pluralize(value: unknown, { args, named, state }: FilterCall): string {
  const { locale } = state.settings;
  const amount = toNumber(value);
  const rules = cachedFormatter(state, `plural ${locale}`, () => new Intl.PluralRules(locale));
  const form = rules.select(amount);
  const forms =
    args.length === 0
      ? named
      : new Map([
          ['one', args[0]],
          ['other', args[1]],
        ]);
  const noun = forms.get(form) ?? forms.get('other');
  if (noun === undefined) {
    throw new ValueError('Expected two words, or named plural forms that include `other:`.');
  }
  return toText(noun, state);
}

interface Instant {
  ms: number;
  /** Written without an offset: a local date or time, not an instant. */
  floating: boolean;
}

const ISO_LIKE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?$/;

function parseInstant(value: unknown, state: RenderState): Instant {
  const { nowMs } = state.settings;
  if (value instanceof Date) return valid(value.getTime(), false, value);
  if (typeof value === 'number') return valid(fromNumber(value), false, value);
  const text = toText(value, state).trim();
  if ((text === 'now' || text === 'today') && nowMs !== undefined) {
    return { ms: nowMs, floating: false };
  }
  if (/^-?\d{1,16}$/.test(text)) return valid(fromNumber(Number(text)), false, value);
  const iso = ISO_LIKE.exec(text);
  if (iso) return valid(Date.parse(`${iso[1]}T${iso[2] ?? '00:00'}Z`), true, value);
  // Without a zone, JavaScript would use the server's time zone.
  const zoned = /(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$/i.test(text);
  return valid(
    text.length > 64 ? Number.NaN : Date.parse(zoned ? text : `${text} UTC`),
    !zoned,
    value,
  );
}

/** Liquid uses seconds, JavaScript milliseconds; no plausible date is in both ranges. */
function fromNumber(value: number): number {
  return Math.abs(value) < 1e11 ? value * 1000 : value;
}

function valid(ms: number, floating: boolean, value: unknown): Instant {
  if (Number.isNaN(ms) || Math.abs(ms) > 8.64e15)
    throw new ValueError(`${describe(value)} is not a date.`);
  return { ms, floating };
}

function localTimeIn(state: RenderState, ms: number, timeZone: string): LocalTime {
  const parts = dateFormat(state, 'en-US', timeZone, 'local time', {
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
  return toLocalTime(parts, ms);
}

function dateFormat(
  state: RenderState,
  locale: string,
  timeZone: string,
  key: string,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  return cachedFormatter(state, `date ${locale} ${timeZone} ${key}`, () => {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone });
  });
}

function cachedFormatter<F extends Format>(state: RenderState, key: string, make: () => F): F {
  const known = formatters.get(key);
  if (known) return known as F;
  state.spend(CREATE_FORMATTER_COST);
  let formatter: F;
  try {
    formatter = make();
  } catch {
    throw new ValueError(`Unknown locale, currency or time zone (${key.slice(0, 60)}).`);
  }
  if (formatters.size >= FORMATTERS_MAX) formatters.clear();
  formatters.set(key, formatter);
  return formatter;
}
