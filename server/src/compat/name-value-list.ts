import { type FieldError, invalidFields } from '../lib/refused-error.ts';

/**
 * A list of names and values, such as headers or tags, as the object that our own API takes. A name
 * that is given twice is refused, because only one of its values would be used.
 */
export function toRecord<T>(
  list: readonly { Name: string; Value: T }[],
  pointer: string,
): Record<string, T> {
  const seen = new Set<string>();
  const repeated: FieldError[] = [];
  for (const [index, { Name }] of list.entries()) {
    const key = Name.toLowerCase();
    if (seen.has(key)) {
      const detail = `${Name} is given twice. Each name can be given once.`;
      repeated.push({ pointer: `${pointer}/${index}/Name`, code: 'duplicate', detail });
    }
    seen.add(key);
  }
  if (repeated.length > 0) throw invalidFields(repeated);
  return Object.fromEntries(list.map(({ Name, Value }) => [Name, Value]));
}
