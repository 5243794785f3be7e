/** Asserts an invariant. A violation is a bug, and the current task must not continue. */
export function assert(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Error(`Broken invariant: ${invariant}`);
}

/** For the default case of a switch over a union: the compiler checks that all cases are handled. */
export function unreachable(value: never): never {
  throw new Error(`Broken invariant: unexpected ${JSON.stringify(value)}`);
}
