import type { Variable } from './infer-variables.ts';

/** What was inferred of one text, or of several that always go out together. */
export interface InferredSet {
  variables: readonly Variable[];
  /** Part of every message, not of one variant. */
  unconditional: boolean;
}

/**
 * One list out of those of a template's variants. What only some variants need is not needed by
 * every send; a send that does lack it hears of it when its own variant is rendered. A guess that
 * says more than "text" wins.
 */
export function mergeInferred(lists: readonly InferredSet[]): Variable[] {
  const variants = lists.filter(({ unconditional }) => !unconditional).length;
  const merged = new Map<string, Variable & { neededBy: number; alwaysNeeded: boolean }>();
  for (const { variables, unconditional } of lists) {
    for (const { name, type, required } of variables) {
      const known = merged.get(name) ?? {
        name,
        type,
        required,
        neededBy: 0,
        alwaysNeeded: false,
      };
      if (known.type === 'string') known.type = type;
      if (required && unconditional) known.alwaysNeeded = true;
      else if (required) known.neededBy += 1;
      merged.set(name, known);
    }
  }
  return [...merged.values()].map(({ name, type, neededBy, alwaysNeeded }) => ({
    name,
    type,
    required: alwaysNeeded || (variants > 0 && neededBy === variants),
  }));
}
