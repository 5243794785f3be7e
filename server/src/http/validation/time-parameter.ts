import { assert } from '../../lib/assert.ts';
import { parseTime } from '../../lib/rfc3339.ts';

/** A time from the query under the name that a room uses, or nothing when it was not given. */
export function timeParameter<Name extends string>(
  name: Name,
  parameter: string,
  query: Record<string, unknown>,
): { [K in Name]?: number } {
  const text = query[parameter];
  if (text === undefined) return {};
  const ms = parseTime(String(text));
  assert(ms !== undefined, `${parameter} was checked to be a time`);
  return { [name]: ms } as { [K in Name]?: number };
}
