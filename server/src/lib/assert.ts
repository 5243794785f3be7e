/** States what must be true here. When it is not, the fault is ours and the task must end. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Error(`Broken invariant: ${invariant}`);
}

/** Closes a switch over a union: the compiler proves that no member was forgotten. */
export function unreachable(value: never): never {
  throw new Error(`Broken invariant: unexpected ${JSON.stringify(value)}`);
}
