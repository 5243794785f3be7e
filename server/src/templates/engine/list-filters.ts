import type { FilterCall, FilterSpec } from './filter-spec.ts';
import {
  areEqual,
  compare,
  describe,
  isTruthy,
  joinTexts,
  readNested,
  sizeOf,
  toNumber,
  toText,
  ValueError,
} from './values.ts';

/** Filters on lists. They only read records through `readNested`: own properties, no functions. */

const SPLIT_MAX = 100_000;

export const LIST_FILTERS: readonly [string, FilterSpec][] = [
  ['join', list(join, 0, 1)],
  ['first', list((items) => items[0])],
  ['last', list((items) => items.at(-1))],
  ['size', { apply: (value, { state }) => sizeOf(value, state), argsMin: 0, argsMax: 0 }],
  ['slice', { apply: slice, argsMin: 1, argsMax: 2 }],
  ['split', { apply: split, argsMin: 1, argsMax: 1, expects: 'text' }],
  ['reverse', list((items) => items.toReversed())],
  ['compact', list((items) => items.filter((item) => item !== null && item !== undefined))],
  ['concat', list((items, { args }) => [...items, ...asList(args[0])], 1, 1)],
  ['push', list((items, { args }) => [...items, args[0]], 1, 1)],
  ['uniq', list(uniq, 0, 1)],
  ['map', list((items, call) => items.map(reader(call)), 1, 1)],
  ['where', list((items, call) => items.filter(matcher(call)), 1, 2)],
  ['reject', list((items, call) => items.filter(not(matcher(call))), 1, 2)],
  ['find', list((items, call) => items.find(matcher(call)), 1, 2)],
  ['has', list((items, call) => items.some(matcher(call)), 1, 2)],
  ['sum', list(sumOf, 0, 1)],
  ['sort', list((items, call) => sort(items, call, (value) => value), 0, 1)],
  ['sort_natural', list((items, call) => sort(items, call, lowerCase), 0, 1)],
  ['group_by', list(groupBy, 1, 1)],
  ['array_to_sentence_string', list(toSentence, 0, 1)],
];

function list(
  apply: (items: readonly unknown[], call: FilterCall) => unknown,
  argsMin = 0,
  argsMax = 0,
): FilterSpec {
  return {
    apply(value, call) {
      const items = asList(value);
      // Each element costs a lookup or comparison, about sixteen times the cost of a character.
      call.state.spendOnLength(Math.min(items.length << 4, 2 ** 20));
      call.state.budget.spend(items.length, call.state.settings.field);
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
  throw new ValueError(`${describe(value)} is not a list.`);
}

function join(items: readonly unknown[], { args, state }: FilterCall): string {
  return joinTexts(items, args.length > 0 ? toText(args[0], state) : ' ', state);
}

function slice(value: unknown, { args, state }: FilterCall): unknown {
  const from = Math.trunc(toNumber(args[0]));
  const length = Math.max(0, args.length > 1 ? Math.trunc(toNumber(args[1])) : 1);
  const items = Array.isArray(value) ? value : [...toText(value, state)];
  const start = from < 0 ? items.length + from : from;
  const part = start < 0 ? [] : items.slice(start, start + length);
  return Array.isArray(value) ? part : part.join('');
}

function split(value: unknown, { args, state }: FilterCall): string[] {
  const text = toText(value, state);
  const separator = toText(args[0], state);
  state.spendOnSearch(text, separator);
  const parts = text.split(separator, SPLIT_MAX + 1);
  if (parts.length > SPLIT_MAX) state.failTooLong();
  state.budget.spend(parts.length, state.settings.field);
  while (parts.at(-1) === '') parts.pop();
  return parts;
}

function uniq(items: readonly unknown[], call: FilterCall): unknown[] {
  const keyOf = reader(call);
  const seen = new Set<unknown>();
  return items.filter((item) => {
    const key = keyOf(item);
    call.state.spendOnText(key);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Reads the field named by the first argument; without an argument, the item itself. */
function reader({ args, state }: FilterCall): (item: unknown) => unknown {
  if (args.length === 0) return (item) => item;
  const path = toText(args[0], state).split('.');
  return (item) => readNested(item, path, state);
}

function matcher(call: FilterCall): (item: unknown) => boolean {
  const { args, state } = call;
  const read = reader(call);
  if (args.length < 2) return (item) => isTruthy(read(item));
  return (item) => areEqual(read(item), args[1], state);
}

function not(predicate: (item: unknown) => boolean): (item: unknown) => boolean {
  return (item) => !predicate(item);
}

function sumOf(items: readonly unknown[], call: FilterCall): number {
  const read = reader(call);
  let total = 0;
  for (const item of items) {
    const value = read(item);
    call.state.spendOnText(value);
    if (value !== null && value !== undefined) total += toNumber(value);
  }
  return Number.isInteger(total) ? total : Number(total.toPrecision(15));
}

/** Values that cannot be ordered keep their relative order and come last. */
function sort(
  items: readonly unknown[],
  call: FilterCall,
  keyOf: (value: unknown) => unknown,
): unknown[] {
  const { state } = call;
  const read = reader(call);
  const rounds = Math.ceil(Math.log2(items.length + 2));
  state.spend(items.length * rounds);
  const keyed = items.map((item) => {
    const value = read(item);
    // Compared once per round, from the start.
    if (typeof value === 'string') state.spend((value.length >> 4) * rounds);
    return { item, key: keyOf(value) };
  });
  keyed.sort(
    (a, b) => compare(a.key, b.key) ?? Number(isUnordered(a.key)) - Number(isUnordered(b.key)),
  );
  return keyed.map(({ item }) => item);
}

function isUnordered(value: unknown): boolean {
  return compare(value, value) === undefined;
}

function lowerCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function groupBy(items: readonly unknown[], call: FilterCall): unknown[] {
  const keyOf = reader(call);
  const groups = new Map<unknown, unknown[]>();
  for (const item of items) {
    const key = keyOf(item);
    call.state.spendOnText(key);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups].map(([name, members]) => ({ name, items: members }));
}

function toSentence(items: readonly unknown[], { args, state }: FilterCall): string {
  if (items.length === 0) return '';
  const last = toText(items.at(-1), state);
  if (items.length === 1) return last;
  const conjunction = args.length > 0 ? toText(args[0], state) : 'and';
  const first = joinTexts(items.slice(0, -1), ', ', state);
  return `${first}${items.length > 2 ? ',' : ''} ${conjunction} ${last}`;
}
