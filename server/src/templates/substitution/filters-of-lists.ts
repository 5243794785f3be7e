import { type FilterCall, type FilterSpec, ValueProblem } from './filter-spec.ts';
import { areEqual, compare, isTrue, readDotted, shown, toNumber, toText } from './values.ts';

/** Filters on lists. They read records only through `readDotted`: own properties, no functions. */

const SPLIT_MAX = 100_000;

export const LIST_FILTERS: readonly [string, FilterSpec][] = [
  ['join', list(join, 0, 1)],
  ['first', list((items) => items[0])],
  ['last', list((items) => items.at(-1))],
  ['size', { apply: size, argsMin: 0, argsMax: 0 }],
  ['slice', { apply: slice, argsMin: 1, argsMax: 2 }],
  ['split', { apply: split, argsMin: 1, argsMax: 1, expects: 'text' }],
  ['reverse', list((items) => items.toReversed())],
  ['compact', list((items) => items.filter((item) => item !== null && item !== undefined))],
  ['concat', list((items, { args }) => [...items, ...asList(args[0])], 1, 1)],
  ['push', list((items, { args }) => [...items, args[0]], 1, 1)],
  ['uniq', list(uniq, 0, 1)],
  ['map', list((items, { args }) => items.map((item) => readDotted(item, toText(args[0]))), 1, 1)],
  ['where', list((items, call) => items.filter((item) => matches(item, call)), 1, 2)],
  ['reject', list((items, call) => items.filter((item) => !matches(item, call)), 1, 2)],
  ['find', list((items, call) => items.find((item) => matches(item, call)), 1, 2)],
  ['has', list((items, call) => items.some((item) => matches(item, call)), 1, 2)],
  ['sum', list(sum, 0, 1)],
  ['sort', list((items, call) => sort(items, call, (value) => value), 0, 1)],
  ['sort_natural', list((items, call) => sort(items, call, lowerCase), 0, 1)],
  ['group_by', list(groupBy, 1, 1)],
  ['array_to_sentence_string', list(sentence, 0, 1)],
];

function list(
  apply: (items: readonly unknown[], call: FilterCall) => unknown,
  argsMin = 0,
  argsMax = 0,
): FilterSpec {
  return {
    apply(value, call) {
      const items = asList(value);
      // Each element costs a look-up or a comparison, sixteen times what a character costs.
      call.run.spendOn(Math.min(items.length << 4, 2 ** 20));
      call.run.budget.spend(items.length, call.run.settings.field);
      return apply(items, call);
    },
    argsMin,
    argsMax,
    expects: 'list',
  };
}

function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value === null || value === undefined) return [];
  throw new ValueProblem(`${shown(value)} is not a list.`);
}

function join(items: readonly unknown[], { args, run }: FilterCall): string {
  const separator = args.length > 0 ? toText(args[0]) : ' ';
  const texts = items.map((item) => toText(item));
  run.spendOn(texts.reduce((sum, text) => sum + text.length + separator.length, 0));
  return texts.join(separator);
}

function size(value: unknown): number {
  if (Array.isArray(value) || typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

function slice(value: unknown, { args }: FilterCall): unknown {
  const from = Math.trunc(toNumber(args[0]));
  const length = Math.max(0, args.length > 1 ? Math.trunc(toNumber(args[1])) : 1);
  const items = Array.isArray(value) ? value : [...toText(value)];
  const start = from < 0 ? items.length + from : from;
  const part = start < 0 ? [] : items.slice(start, start + length);
  return Array.isArray(value) ? part : part.join('');
}

function split(value: unknown, { args, run }: FilterCall): string[] {
  const text = toText(value);
  const separator = toText(args[0]);
  const parts = text.split(separator, SPLIT_MAX + 1);
  if (parts.length > SPLIT_MAX) run.tooLong();
  run.budget.spend(parts.length, run.settings.field);
  while (parts.at(-1) === '') parts.pop();
  return parts;
}

function uniq(items: readonly unknown[], { args }: FilterCall): unknown[] {
  const seen = new Set<unknown>();
  return items.filter((item) => {
    const key = args.length > 0 ? readDotted(item, toText(args[0])) : item;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function matches(item: unknown, { args }: FilterCall): boolean {
  const value = readDotted(item, toText(args[0]));
  return args.length > 1 ? areEqual(value, args[1]) : isTrue(value);
}

function sum(items: readonly unknown[], { args }: FilterCall): number {
  let total = 0;
  for (const item of items) {
    const value = args.length > 0 ? readDotted(item, toText(args[0])) : item;
    if (value !== null && value !== undefined) total += toNumber(value);
  }
  return Number.isInteger(total) ? total : Number(total.toPrecision(15));
}

/** Things without order keep theirs and go last. */
function sort(
  items: readonly unknown[],
  { args, run }: FilterCall,
  keyOf: (value: unknown) => unknown,
): unknown[] {
  run.budget.spend(items.length * Math.ceil(Math.log2(items.length + 2)), run.settings.field);
  const keyed = items.map((item) => ({
    item,
    key: keyOf(args.length > 0 ? readDotted(item, toText(args[0])) : item),
  }));
  keyed.sort((a, b) => compare(a.key, b.key) ?? Number(isVoid(a.key)) - Number(isVoid(b.key)));
  return keyed.map(({ item }) => item);
}

function isVoid(value: unknown): boolean {
  return compare(value, value) === undefined;
}

function lowerCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function groupBy(items: readonly unknown[], { args }: FilterCall): unknown[] {
  const groups = new Map<unknown, unknown[]>();
  for (const item of items) {
    const key = readDotted(item, toText(args[0]));
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups].map(([name, members]) => ({ name, items: members }));
}

function sentence(items: readonly unknown[], { args, run }: FilterCall): string {
  const texts = items.map((item) => toText(item));
  run.spendOn(texts.reduce((sum, text) => sum + text.length + 2, 0));
  const last = texts.pop();
  if (last === undefined || texts.length === 0) return last ?? '';
  const word = args.length > 0 ? toText(args[0]) : 'and';
  return `${texts.join(', ')}${texts.length > 1 ? ',' : ''} ${word} ${last}`;
}
