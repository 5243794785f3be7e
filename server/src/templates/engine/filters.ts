import { filters as liquidFilters } from 'liquidjs';
import { escapeHtml } from '../../lib/html/escape-html.ts';
import { jsonForHtml } from './escape.ts';
import type { FilterCall, FilterSpec } from './filter-spec.ts';
import { LIST_FILTERS } from './list-filters.ts';
import { LOCALE_FILTERS } from './locale-filters.ts';
import { SafeHtml, toNumber, toText, ValueError } from './values.ts';

type Handler = (this: unknown, value: unknown, ...args: unknown[]) => unknown;

/** Filter name, and the minimum and maximum number of arguments of LiquidJS's handler. */
const LIQUID_TEXT_FILTERS: readonly [string, number, number][] = [
  ['append', 1, 1],
  ['base64_decode', 0, 0],
  ['base64_encode', 0, 0],
  ['capitalize', 0, 0],
  ['cgi_escape', 0, 0],
  ['downcase', 0, 0],
  ['lstrip', 0, 1],
  ['normalize_whitespace', 0, 0],
  ['number_of_words', 0, 1],
  ['prepend', 1, 1],
  ['remove', 1, 1],
  ['remove_first', 1, 1],
  ['remove_last', 1, 1],
  ['replace_first', 2, 2],
  ['replace_last', 2, 2],
  ['rstrip', 0, 1],
  ['slugify', 0, 2],
  ['squish', 0, 0],
  ['strip', 0, 1],
  ['strip_html', 0, 0],
  ['strip_newlines', 0, 0],
  ['truncate', 0, 2],
  ['truncatewords', 0, 2],
  ['upcase', 0, 0],
  ['uri_escape', 0, 0],
  ['url_decode', 0, 0],
  ['url_encode', 0, 0],
];

/** Filters that search for their first argument. */
const SEARCHING_FILTERS = new Set([
  ...['remove', 'remove_first', 'remove_last'],
  ...['replace_first', 'replace_last', 'strip', 'lstrip', 'rstrip'],
]);

/** Trimming whitespace around trusted HTML keeps it trusted. */
const PRESERVES_HTML = new Set(['strip', 'lstrip', 'rstrip']);

/**
 * All filters by name. Text filters are LiquidJS's own and only receive strings, numbers and booleans;
 * those that read values, calculate, or depend on the output format or locale are implemented here.
 */
export const FILTERS: ReadonlyMap<string, FilterSpec> = new Map([
  ...textFilters(),
  ...numberFilters(),
  ...formatFilters(),
  ...LIST_FILTERS,
  ...LOCALE_FILTERS,
]);

function textFilters(): [string, FilterSpec][] {
  // Text filters are charged before and after each call, so LiquidJS's own accounting is disabled.
  const self = { context: { memoryLimit: { use: () => {} }, ownPropertyOnly: true, opts: {} } };
  const wrapped = LIQUID_TEXT_FILTERS.map(([name, argsMin, argsMax]): [string, FilterSpec] => {
    const filter = liquidFilters[name];
    const handler = (typeof filter === 'function' ? filter : filter?.handler) as Handler;
    const apply = (value: unknown, { args, state }: FilterCall): unknown => {
      const text = toText(value, state).toWellFormed();
      const plain = args.map((arg) =>
        typeof arg === 'number' ? arg : toText(arg, state).toWellFormed(),
      );
      const [needle] = plain;
      if (SEARCHING_FILTERS.has(name) && typeof needle === 'string')
        state.spendOnSearch(text, needle);
      try {
        const result = handler.call(self, text, ...plain);
        return value instanceof SafeHtml && PRESERVES_HTML.has(name)
          ? new SafeHtml(String(result))
          : result;
      } catch (error) {
        if (error instanceof RangeError) throw error;
        throw new ValueError('The value cannot be converted.');
      }
    };
    return [
      name,
      { apply, argsMin, argsMax, expects: 'text', takesHtml: PRESERVES_HTML.has(name) },
    ];
  });
  return [...wrapped, ['replace', { apply: replace, argsMin: 1, argsMax: 2, expects: 'text' }]];
}

/** Charges for the result before creating it, because a short replacement can inflate a long text. */
function replace(value: unknown, { args, state }: FilterCall): string {
  const text = toText(value, state);
  const pattern = toText(args[0], state);
  const replacement = toText(args[1], state);
  if (pattern === '') return text;
  state.spendOnSearch(text, pattern);
  const parts = text.split(pattern);
  state.spendOnLength(text.length + (parts.length - 1) * (replacement.length - pattern.length));
  return parts.join(replacement);
}

function numberFilters(): [string, FilterSpec][] {
  const unary = (compute: (x: number) => number): FilterSpec => ({
    apply: (value) => compute(toNumber(value)),
    argsMin: 0,
    argsMax: 0,
    expects: 'number',
  });
  const binary = (compute: (x: number, y: number) => number): FilterSpec => ({
    apply: (value, { args }) => compute(toNumber(value), toNumber(args[0])),
    argsMin: 1,
    argsMax: 1,
    expects: 'number',
  });
  return [
    ['abs', unary(Math.abs)],
    ['ceil', unary(Math.ceil)],
    ['floor', unary(Math.floor)],
    ['plus', binary((x, y) => roundFloat(x + y))],
    ['minus', binary((x, y) => roundFloat(x - y))],
    ['times', binary((x, y) => roundFloat(x * y))],
    ['divided_by', binary((x, y) => roundFloat(x / notZero(y)))],
    ['modulo', binary((x, y) => ((x % notZero(y)) + y) % y)],
    ['at_least', binary(Math.max)],
    ['at_most', binary(Math.min)],
    ['round', { apply: round, argsMin: 0, argsMax: 1, expects: 'number' }],
    ['to_integer', unary(Math.trunc)],
  ];
}

/** Avoids floating-point noise: 0.1 + 0.2 is 0.3 on an invoice. */
function roundFloat(x: number): number {
  return Number.isInteger(x) ? x : Number(x.toPrecision(15));
}

function notZero(divisor: number): number {
  if (divisor === 0) throw new ValueError('Division by zero.');
  return divisor;
}

function round(value: unknown, { args }: FilterCall): number {
  const number = toNumber(value);
  const digits = Math.min(15, Math.max(0, Math.trunc(args.length > 0 ? toNumber(args[0]) : 0)));
  const [mantissa = '0', power = '0'] = String(Math.abs(number)).split('e');
  const scaled = Math.round(Number(`${mantissa}e${Number(power) + digits}`));
  const [back = '0', backPower = '0'] = String(scaled).split('e');
  const rounded = Number(`${back}e${Number(backPower) - digits}`);
  return Number.isFinite(rounded) ? Math.sign(number) * rounded : number;
}

/** Filters whose result depends on whether the field is HTML. */
function formatFilters(): [string, FilterSpec][] {
  const inHtml = (call: FilterCall): boolean => call.state.settings.format === 'html';
  const spec = (apply: FilterSpec['apply'], argsMax = 0): FilterSpec => ({
    apply,
    argsMin: 0,
    argsMax,
    takesHtml: true,
  });
  return [
    ['raw', spec((value) => value)],
    // `default` is evaluated with the expression, because its argument is only evaluated when needed.
    ['default', { apply: (value) => value, argsMin: 1, argsMax: 1, takesHtml: true }],
    [
      'escape',
      spec((value, call) => {
        if (value instanceof SafeHtml) return value;
        const escaped = escapeHtml(toText(value, call.state));
        return inHtml(call) ? new SafeHtml(escaped) : escaped;
      }),
    ],
    [
      'escape_once',
      spec((value, call) => {
        if (value instanceof SafeHtml) return value;
        const escaped = escapeHtml(unescapeHtml(toText(value, call.state)));
        return inHtml(call) ? new SafeHtml(escaped) : escaped;
      }),
    ],
    [
      'newline_to_br',
      spec((value, call) => {
        if (!inHtml(call)) return toText(value, call.state);
        const html = value instanceof SafeHtml ? value.html : escapeHtml(toText(value, call.state));
        return new SafeHtml(html.replace(/\r?\n/g, '<br />\n'));
      }),
    ],
    [
      'json',
      spec((value, { state }) =>
        jsonForHtml(value instanceof SafeHtml ? value.html : (value ?? null), state),
      ),
    ],
  ];
}

function unescapeHtml(text: string): string {
  const plain: Record<string, string> = {
    lt: '<',
    gt: '>',
    quot: '"',
    '#34': '"',
    '#39': "'",
    amp: '&',
  };
  return text.replace(/&(amp|lt|gt|quot|#34|#39);/g, (whole, name: string) => plain[name] ?? whole);
}
