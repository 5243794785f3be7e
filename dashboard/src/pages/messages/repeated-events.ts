/** A run of this many similar events is shown in full. */
const RUN_MAX = 3;

/**
 * The events inside a run of one type, by ID: the first one with the number of all that are hidden,
 * the others with zero.
 */
export function repeatedEvents(
  events: readonly { id: string; type: string }[],
): Map<string, number> {
  const hidden = new Map<string, number>();
  for (let start = 0; start < events.length; ) {
    let end = start + 1;
    while (events[end]?.type === events[start]?.type && end < events.length) end += 1;
    const inner = end - start > RUN_MAX ? events.slice(start + 1, end - 1) : [];
    for (const [index, { id }] of inner.entries()) hidden.set(id, index === 0 ? inner.length : 0);
    start = end;
  }
  return hidden;
}
