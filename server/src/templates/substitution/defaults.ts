/**
 * Fills in declared defaults: for every path without a value (absent or null) the one declared for
 * it. A path is dotted, and `[]` walks all items of a list (`lines[].quantity`). The caller's values
 * are never changed: what is touched is copied.
 */
export function withDefaults(
  values: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  let filled: unknown = values;
  for (const [path, value] of Object.entries(defaults)) {
    if (value === undefined || value === null) continue;
    filled = fill(filled, path.replaceAll('[]', '.[]').split('.'), 0, value);
  }
  return filled as Readonly<Record<string, unknown>>;
}

function fill(target: unknown, path: readonly string[], depth: number, value: unknown): unknown {
  const key = path[depth];
  if (key === undefined) return target ?? value;
  if (key === '[]') {
    return Array.isArray(target)
      ? target.map((item) => fill(item, path, depth + 1, value))
      : target;
  }
  const isRecord = typeof target === 'object' && target !== null && !Array.isArray(target);
  if (!isRecord && target !== undefined && target !== null) return target;
  const record = (target ?? {}) as Record<string, unknown>;
  const before = Object.hasOwn(record, key) ? record[key] : undefined;
  const after = fill(before, path, depth + 1, value);
  // An absent list stays absent: there are no items to give a default to.
  if (after === before) return target;
  return Object.assign(Object.create(null), record, { [key]: after });
}
