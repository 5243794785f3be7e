import type { Expr, FilterCallNode, FilteredExpr, Operator, PathExpr } from './content-nodes.ts';
import { Absent, type RenderState } from './render-state.ts';
import {
  areEqual,
  compare,
  isBlank,
  isEmpty,
  isTruthy,
  readProperty,
  SafeHtml,
  toNumber,
  toText,
  ValueError,
} from './values.ts';

/** A filter takes about as long as visiting twenty nodes. */
const FILTER_COST = 20;
const NO_NAMED: ReadonlyMap<string, unknown> = new Map();

/**
 * Evaluates an expression. When `strict`, a path without a value is reported to the budget and
 * evaluation continues, so that one render finds everything that is missing.
 */
export function evaluate(expr: Expr, state: RenderState, strict: boolean): unknown {
  switch (expr.kind) {
    case 'path': {
      const value = readPath(expr, state, strict);
      if (value === undefined && strict) state.reportMissing(expr, describePath(expr, state));
      return value;
    }
    case 'literal':
      return expr.value;
    case 'filtered':
      return applyFilters(expr, state, strict);
    case 'binary':
      return evaluateBinary(expr.operator, expr.left, expr.right, state);
    case 'not':
      state.spend(1);
      return !isTruthy(evaluate(expr.operand, state, false));
    case 'range':
      return rangeItems(expr, state, strict);
    case 'void':
      return '';
    case 'cycle':
      return nextInCycle(expr, state, strict);
    case 'counter':
      return count(expr.name, expr.step, state);
  }
}

/** The value at a path; undefined for everything that counts as missing. */
function readPath(expr: PathExpr, state: RenderState, strict: boolean): unknown {
  let value = readRoot(expr, state);
  if (value instanceof Absent) return undefined;
  for (const segment of expr.segments) {
    const key = typeof segment === 'object' ? evaluate(segment, state, strict) : segment;
    state.spend(1);
    value = readProperty(value, key, state);
    if (value === undefined) return undefined;
  }
  if (value === null) return undefined;
  if (expr.fromContact && typeof value === 'string') {
    state.spendOnLength(value.length);
    if (value.trim() === '') return undefined;
  }
  return value;
}

function readRoot(expr: PathExpr, state: RenderState): unknown {
  if (expr.frame !== -1) {
    const frame = state.frames[expr.frame];
    return expr.root === 'forloop' ? frame : frame?.item;
  }
  if (state.locals.size > 0 && state.locals.has(expr.root)) return state.locals.get(expr.root);
  if (!Object.hasOwn(state.data, expr.root)) return undefined;
  const value = state.data[expr.root];
  return typeof value === 'function' ? undefined : value;
}

/** A path as its author would recognize it, with loop variables replaced by list items. */
export function describePath(expr: Expr, state: RenderState): string {
  if (expr.kind === 'filtered') return describePath(expr.initial, state);
  if (expr.kind !== 'path') return '';
  let path = expr.root;
  const frame = state.frames[expr.frame];
  if (frame && expr.root !== 'forloop' && frame.listPath !== '') {
    path = `${frame.listPath}[${frame.sourceIndex}]`;
  }
  const local = expr.frame === -1 ? state.locals.get(expr.root) : undefined;
  if (local instanceof Absent) path = local.path;
  for (const segment of expr.segments) {
    const key = typeof segment === 'object' ? evaluate(segment, state, false) : segment;
    state.spendOnText(key);
    if (typeof key === 'string' && /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key)) path += `.${key}`;
    else path += `[${typeof key === 'number' ? key : JSON.stringify(key ?? null)}]`;
  }
  return path;
}

function applyFilters(expr: FilteredExpr, state: RenderState, strict: boolean): unknown {
  let reports = state.reports;
  const optional = expr.defaultAt !== -1;
  let value = evaluate(expr.initial, state, strict && !optional);
  let failed = state.reports !== reports;
  let index = -1;
  for (const filter of expr.filters) {
    index += 1;
    if (filter.name === 'default') {
      const lenient = index < expr.defaultAt || !strict;
      value = applyDefault(filter, value, state, !lenient);
      continue;
    }
    reports = state.reports;
    const args = filter.args.map((arg) => evaluate(arg, state, strict && index >= expr.defaultAt));
    failed ||= state.reports !== reports;
    // Nothing can be filtered after a missing value, but later arguments are still checked.
    if (!failed) value = applyFilter(filter, value, args, expr, state);
  }
  return failed ? undefined : value;
}

function applyFilter(
  filter: FilterCallNode,
  value: unknown,
  args: unknown[],
  expr: FilteredExpr,
  state: RenderState,
): unknown {
  state.budget.spend(filter.spec.cost ?? FILTER_COST, state.settings.field);
  spendOnValue(value, state);
  const named =
    filter.named.length === 0
      ? NO_NAMED
      : new Map(filter.named.map(({ name, expr: arg }) => [name, evaluate(arg, state, true)]));
  for (const arg of args) spendOnValue(arg, state);
  if (named !== NO_NAMED) for (const arg of named.values()) spendOnValue(arg, state);
  const input = value instanceof SafeHtml && !filter.spec.takesHtml ? value.html : value;
  try {
    const result = filter.spec.apply(input, { args, named, state });
    spendOnValue(result, state);
    return result;
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    state.report(
      filter.at,
      describePath(expr, state),
      'invalid_variable',
      `\`${filter.name}\`: ${error.message}`,
    );
    return undefined;
  }
}

/** Charges for a value that a filter reads or returns. */
function spendOnValue(value: unknown, state: RenderState): void {
  if (Array.isArray(value)) state.spendOnLength(value.length);
  else state.spendOnText(value);
}

/** Liquid's default applies to nil, false and empty values. Its argument is only required then. */
function applyDefault(
  filter: FilterCallNode,
  value: unknown,
  state: RenderState,
  strict: boolean,
): unknown {
  const allowFalse = filter.named.some(
    ({ name, expr }) => name === 'allow_false' && evaluate(expr, state, false) === true,
  );
  if (value === false && allowFalse) return value;
  const empty = value === '' || (Array.isArray(value) && value.length === 0);
  const blankHtml = value instanceof SafeHtml && value.html === '';
  if (isTruthy(value) && !empty && !blankHtml) return value;
  const [substitute] = filter.args;
  return substitute ? evaluate(substitute, state, strict) : '';
}

/** Conditions test values that may be missing, so they are never strict. */
function evaluateBinary(operator: Operator, left: Expr, right: Expr, state: RenderState): boolean {
  state.spend(1);
  if (operator === 'and') {
    return isTruthy(evaluate(left, state, false)) && isTruthy(evaluate(right, state, false));
  }
  if (operator === 'or') {
    return isTruthy(evaluate(left, state, false)) || isTruthy(evaluate(right, state, false));
  }
  if (operator === '==' || operator === '!=') {
    return areExprsEqual(left, right, state) === (operator === '==');
  }
  const a = evaluate(left, state, false);
  const b = evaluate(right, state, false);
  if (operator === 'contains') return contains(a, b, state);
  if (left.kind === 'void' || right.kind === 'void') return false;
  state.spendOnText(a);
  state.spendOnText(b);
  const order = compare(a, b);
  if (order === undefined) return false;
  if (operator === '<') return order < 0;
  if (operator === '>') return order > 0;
  return operator === '<=' ? order <= 0 : order >= 0;
}

function areExprsEqual(left: Expr, right: Expr, state: RenderState): boolean {
  if (left.kind === 'void') return right.kind !== 'void' && isVoid(left.blank, right, state);
  if (right.kind === 'void') return isVoid(right.blank, left, state);
  const a = evaluate(left, state, false);
  const b = evaluate(right, state, false);
  return areEqual(a, b, state);
}

function isVoid(blank: boolean, expr: Expr, state: RenderState): boolean {
  const value = evaluate(expr, state, false);
  state.spendOnText(value);
  return blank ? isBlank(value, state) : isEmpty(value, state);
}

function contains(container: unknown, item: unknown, state: RenderState): boolean {
  if (Array.isArray(container)) {
    state.spend(container.length);
    return container.some((member) => areEqual(member, item, state));
  }
  const text = container instanceof SafeHtml ? container.html : container;
  if (typeof text !== 'string' || item === undefined || item === null) return false;
  if (typeof item === 'object') return false;
  const needle = toText(item, state);
  state.spendOnSearch(text, needle);
  return text.includes(needle);
}

/** Only the bounds: the length is charged to the budget before a list is created. */
export function rangeBounds(
  expr: Extract<Expr, { kind: 'range' }>,
  state: RenderState,
  strict: boolean,
): { low: number; length: number } {
  const before = state.reports;
  const low = evaluate(expr.low, state, strict);
  const high = evaluate(expr.high, state, strict);
  if (state.reports !== before || low === undefined || high === undefined)
    return { low: 0, length: 0 };
  state.spendOnText(low);
  state.spendOnText(high);
  try {
    const first = Math.trunc(toNumber(low));
    return { low: first, length: Math.max(0, Math.trunc(toNumber(high)) - first + 1) };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    state.report(expr.at, describePath(expr.high, state), 'invalid_variable', error.message);
    return { low: 0, length: 0 };
  }
}

function rangeItems(
  expr: Extract<Expr, { kind: 'range' }>,
  state: RenderState,
  strict: boolean,
): number[] {
  const { low, length } = rangeBounds(expr, state, strict);
  state.budget.iterate(length, state.settings.field);
  return Array.from({ length }, (_, index) => low + index);
}

function nextInCycle(
  expr: Extract<Expr, { kind: 'cycle' }>,
  state: RenderState,
  strict: boolean,
): unknown {
  const group = expr.group ? toText(evaluate(expr.group, state, strict), state) : '';
  state.spendOnLength(group.length);
  const key = `${group}:${expr.key}`;
  const index = state.cycles.get(key) ?? 0;
  state.cycles.set(key, (index + 1) % expr.values.length);
  const value = expr.values[index];
  return value ? evaluate(value, state, strict) : '';
}

/** `increment` outputs and then adds; `decrement` subtracts and then outputs. */
function count(name: string, step: 1 | -1, state: RenderState): number {
  const before = state.counters.get(name) ?? 0;
  state.counters.set(name, before + step);
  return step === 1 ? before : before - 1;
}
