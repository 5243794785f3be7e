import { RefusedError } from '../../base/refused-error.ts';
import { parseTime } from '../../base/rfc3339.ts';

/** A time from the query under the name that a room uses, or nothing when it was not given. */
export function timeParameter<Name extends string>(
  name: Name,
  parameter: string,
  query: Record<string, unknown>,
): { [K in Name]?: number } {
  const text = query[parameter];
  if (text === undefined) return {};
  const ms = parseTime(String(text));
  if (ms === undefined) {
    const detail = 'Give a time in RFC 3339 form with an offset, such as 2026-11-15T09:00:00Z.';
    throw new RefusedError('validation_failed', `${parameter}: ${detail}`, {
      errors: [{ parameter, code: 'invalid_time', detail }],
    });
  }
  return { [name]: ms } as { [K in Name]?: number };
}
