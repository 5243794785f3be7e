import type { Expr, FilteredExpr, FilterUse, Operator, PathExpr } from './content-nodes.ts';
import { SafeHtml, ValueProblem } from './filter-spec.ts';
import { Absent, type Run } from './run.ts';
import {
  areEqual,
  compare,
  isBlank,
  isEmpty,
  isTrue,
  readProperty,
  toNumber,
  toText,
} from './values.ts';

/** A filter takes as long as visiting some twenty nodes. */
const FILTER_COST = 20;
const NO_NAMED: ReadonlyMap<string, unknown> = new Map();

/**
 * The value of an expression. When `strict`, a path without a value is reported to the budget and
 * evaluation goes on, so that one render finds everything that is missing.
 */
export function evaluate(expr: Expr, run: Run, strict: boolean): unknown {
  switch (expr.kind) {
    case 'path': {
      const value = readPath(expr, run, strict);
      if (value === undefined && strict) run.reportMissing(expr, describePath(expr, run));
      return value;
    }
    case 'literal':
      return expr.value;
    case 'filtered':
      return applyFilters(expr, run, strict);
    case 'binary':
      return operate(expr.operator, expr.left, expr.right, run);
    case 'not':
      run.spend(1);
      return !isTrue(evaluate(expr.operand, run, false));
    case 'range':
      return rangeItems(expr, run, strict);
    case 'void':
      return '';
    case 'cycle':
      return nextOfCycle(expr, run, strict);
    case 'counter':
      return count(expr.name, expr.step, run);
  }
}

/** The value at a path; undefined for everything that counts as no value. */
function readPath(expr: PathExpr, run: Run, strict: boolean): unknown {
  let value = readRoot(expr, run);
  if (value instanceof Absent) return undefined;
  for (const segment of expr.segments) {
    const key = typeof segment === 'object' ? evaluate(segment, run, strict) : segment;
    run.spend(1);
    value = readProperty(value, key, run);
    if (value === undefined) return undefined;
  }
  if (value === null) return undefined;
  if (expr.ofContact && typeof value === 'string') {
    run.spendOn(value.length);
    if (value.trim() === '') return undefined;
  }
  return value;
}

function readRoot(expr: PathExpr, run: Run): unknown {
  if (expr.frame !== -1) {
    const frame = run.frames[expr.frame];
    return expr.root === 'forloop' ? frame : frame?.item;
  }
  if (run.locals.size > 0 && run.locals.has(expr.root)) return run.locals.get(expr.root);
  if (!Object.hasOwn(run.scope, expr.root)) return undefined;
  const value = run.scope[expr.root];
  return typeof value === 'function' ? undefined : value;
}

/** A path as its author should look for it: loop variables by the list they walk. */
export function describePath(expr: Expr, run: Run): string {
  if (expr.kind === 'filtered') return describePath(expr.initial, run);
  if (expr.kind !== 'path') return '';
  let path = expr.root;
  const frame = run.frames[expr.frame];
  if (frame && expr.root !== 'forloop' && frame.listPath !== '') {
    path = `${frame.listPath}[${frame.sourceIndex}]`;
  }
  const local = expr.frame === -1 ? run.locals.get(expr.root) : undefined;
  if (local instanceof Absent) path = local.path;
  for (const segment of expr.segments) {
    const key = typeof segment === 'object' ? evaluate(segment, run, false) : segment;
    run.spendOnText(key);
    if (typeof key === 'string' && /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key)) path += `.${key}`;
    else path += `[${typeof key === 'number' ? key : JSON.stringify(key ?? null)}]`;
  }
  return path;
}

function applyFilters(expr: FilteredExpr, run: Run, strict: boolean): unknown {
  let reports = run.reports;
  const optional = expr.defaultAt !== -1;
  let value = evaluate(expr.initial, run, strict && !optional);
  let failed = run.reports !== reports;
  let index = -1;
  for (const filter of expr.filters) {
    index += 1;
    if (filter.name === 'default') {
      const lenient = index < expr.defaultAt || !strict;
      value = applyDefault(filter, value, run, !lenient);
      continue;
    }
    reports = run.reports;
    const args = filter.args.map((arg) => evaluate(arg, run, strict && index >= expr.defaultAt));
    failed ||= run.reports !== reports;
    // After something missing there is nothing to filter, but later arguments are still checked.
    if (!failed) value = applyFilter(filter, value, args, expr, run);
  }
  return failed ? undefined : value;
}

function applyFilter(
  filter: FilterUse,
  value: unknown,
  args: unknown[],
  expr: FilteredExpr,
  run: Run,
): unknown {
  run.budget.spend(filter.spec.cost ?? FILTER_COST, run.settings.field);
  run.spendOn(typeof value === 'string' || Array.isArray(value) ? value.length : 0);
  const named =
    filter.named.length === 0
      ? NO_NAMED
      : new Map(filter.named.map(({ name, expr: arg }) => [name, evaluate(arg, run, true)]));
  for (const arg of args) spendOnArgument(arg, run);
  if (named !== NO_NAMED) for (const arg of named.values()) spendOnArgument(arg, run);
  const input = value instanceof SafeHtml && !filter.spec.takesHtml ? value.html : value;
  try {
    const result = filter.spec.apply(input, { args, named, run });
    if (typeof result === 'string') run.spendOn(result.length);
    return result;
  } catch (error) {
    if (!(error instanceof ValueProblem)) throw error;
    run.report(
      filter.at,
      describePath(expr, run),
      'invalid_variable',
      `\`${filter.name}\`: ${error.message}`,
    );
    return undefined;
  }
}

function spendOnArgument(arg: unknown, run: Run): void {
  if (Array.isArray(arg)) run.spendOn(arg.length);
  else run.spendOnText(arg);
}

/** Liquid's default: for nothing, false and emptiness. Its own argument is needed only then. */
function applyDefault(filter: FilterUse, value: unknown, run: Run, strict: boolean): unknown {
  const allowFalse = filter.named.some(
    ({ name, expr }) => name === 'allow_false' && evaluate(expr, run, false) === true,
  );
  if (value === false && allowFalse) return value;
  const empty = value === '' || (Array.isArray(value) && value.length === 0);
  const blankHtml = value instanceof SafeHtml && value.html === '';
  if (isTrue(value) && !empty && !blankHtml) return value;
  const [substitute] = filter.args;
  return substitute ? evaluate(substitute, run, strict) : '';
}

/** Conditions look at values that may be missing; they are never strict. */
function operate(operator: Operator, left: Expr, right: Expr, run: Run): boolean {
  run.spend(1);
  if (operator === 'and') {
    return isTrue(evaluate(left, run, false)) && isTrue(evaluate(right, run, false));
  }
  if (operator === 'or') {
    return isTrue(evaluate(left, run, false)) || isTrue(evaluate(right, run, false));
  }
  if (operator === '==' || operator === '!=') {
    return equalExprs(left, right, run) === (operator === '==');
  }
  const a = evaluate(left, run, false);
  const b = evaluate(right, run, false);
  if (operator === 'contains') return contains(a, b, run);
  if (left.kind === 'void' || right.kind === 'void') return false;
  run.spendOnText(a);
  run.spendOnText(b);
  const order = compare(a, b);
  if (order === undefined) return false;
  if (operator === '<') return order < 0;
  if (operator === '>') return order > 0;
  return operator === '<=' ? order <= 0 : order >= 0;
}

function equalExprs(left: Expr, right: Expr, run: Run): boolean {
  if (left.kind === 'void') return right.kind !== 'void' && isVoid(left.blank, right, run);
  if (right.kind === 'void') return isVoid(right.blank, left, run);
  const a = evaluate(left, run, false);
  const b = evaluate(right, run, false);
  return areEqual(a, b, run);
}

function isVoid(blank: boolean, expr: Expr, run: Run): boolean {
  const value = evaluate(expr, run, false);
  run.spendOnText(value);
  return blank ? isBlank(value, run) : isEmpty(value, run);
}

function contains(container: unknown, item: unknown, run: Run): boolean {
  if (Array.isArray(container)) {
    run.spend(container.length);
    return container.some((member) => areEqual(member, item, run));
  }
  const text = container instanceof SafeHtml ? container.html : container;
  if (typeof text !== 'string' || item === undefined || item === null) return false;
  if (typeof item === 'object') return false;
  const sought = toText(item, run);
  run.spendOnSearch(text, sought);
  return text.includes(sought);
}

/** The size of a range is charged before it is made. */
export function rangeBounds(
  expr: Extract<Expr, { kind: 'range' }>,
  run: Run,
  strict: boolean,
): { low: number; length: number } {
  const before = run.reports;
  const low = evaluate(expr.low, run, strict);
  const high = evaluate(expr.high, run, strict);
  if (run.reports !== before || low === undefined || high === undefined)
    return { low: 0, length: 0 };
  run.spendOnText(low);
  run.spendOnText(high);
  try {
    const first = Math.trunc(toNumber(low));
    return { low: first, length: Math.max(0, Math.trunc(toNumber(high)) - first + 1) };
  } catch (error) {
    if (!(error instanceof ValueProblem)) throw error;
    run.report(expr.at, describePath(expr.high, run), 'invalid_variable', error.message);
    return { low: 0, length: 0 };
  }
}

function rangeItems(expr: Extract<Expr, { kind: 'range' }>, run: Run, strict: boolean): number[] {
  const { low, length } = rangeBounds(expr, run, strict);
  run.budget.iterate(length, run.settings.field);
  return Array.from({ length }, (_, index) => low + index);
}

function nextOfCycle(expr: Extract<Expr, { kind: 'cycle' }>, run: Run, strict: boolean): unknown {
  const group = expr.group ? toText(evaluate(expr.group, run, strict), run) : '';
  run.spendOn(group.length);
  const key = `${group}:${expr.key}`;
  const turn = run.cycles.get(key) ?? 0;
  run.cycles.set(key, (turn + 1) % expr.values.length);
  const value = expr.values[turn];
  return value ? evaluate(value, run, strict) : '';
}

/** increment shows and then counts up; decrement counts down and then shows. */
function count(name: string, step: 1 | -1, run: Run): number {
  const before = run.counters.get(name) ?? 0;
  run.counters.set(name, before + step);
  return step === 1 ? before : before - 1;
}
