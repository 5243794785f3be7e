import { ContentLimitError } from './content-errors.ts';

/**
 * Fills in declared defaults for every path whose value is absent or null. Paths are dotted, and `[]`
 * visits all items of a list (`lines[].quantity`). The caller's values are never modified: objects on
 * the way are copied, each once, regardless of how many defaults they receive. Throws a
 * ContentLimitError when long lists and many defaults together take too many steps.
 */
export function withDefaults(
  values: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const state: FillState = { copies: new Set(), stepsLeft: STEPS_MAX };
  let filled: unknown = values;
  for (const [path, value] of Object.entries(defaults)) {
    if (value === undefined || value === null) continue;
    filled = fill(filled, path.replaceAll('[]', '.[]').split('.'), 0, value, state);
  }
  return filled as Readonly<Record<string, unknown>>;
}

const STEPS_MAX = 500_000;

interface FillState {
  /** Objects created here, which are safe to modify. */
  copies: Set<object>;
  stepsLeft: number;
}

function fill(
  target: unknown,
  path: readonly string[],
  depth: number,
  value: unknown,
  state: FillState,
): unknown {
  state.stepsLeft -= 1;
  if (state.stepsLeft < 0) {
    throw new ContentLimitError(
      'template_variables',
      'The lists are too long to fill in all defaults.',
    );
  }
  const key = path[depth];
  if (key === undefined) return target ?? value;
  if (key === '[]') return fillItems(target, path, depth, value, state);
  const isRecord = typeof target === 'object' && target !== null && !Array.isArray(target);
  if (!isRecord && target !== undefined && target !== null) return target;
  const record = (target ?? {}) as Record<string, unknown>;
  const before = Object.hasOwn(record, key) ? record[key] : undefined;
  const after = fill(before, path, depth + 1, value, state);
  // An absent list stays absent, because it has no items to give a default to.
  if (after === before) return target;
  const copy = state.copies.has(record)
    ? record
    : (Object.assign(Object.create(null), record) as Record<string, unknown>);
  state.copies.add(copy);
  copy[key] = after;
  return copy;
}

function fillItems(
  target: unknown,
  path: readonly string[],
  depth: number,
  value: unknown,
  state: FillState,
): unknown {
  if (!Array.isArray(target)) return target;
  const copy = state.copies.has(target) ? target : [...target];
  state.copies.add(copy);
  for (const [index, item] of copy.entries()) {
    copy[index] = fill(item, path, depth + 1, value, state);
  }
  return copy;
}
