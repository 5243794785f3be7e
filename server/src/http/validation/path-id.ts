import { decodeId, type IdPrefix } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Returns the UUID of an id in a path. A malformed id gets the same response as an unknown one.
 */
export function decodePathId(prefix: IdPrefix, id: string, what: string): string {
  const uuid = decodeId(prefix, id);
  if (uuid === undefined) throw notFound(what);
  return uuid;
}

/**
 * The same response for an id that never existed, was deleted, or belongs to another workspace.
 */
export function notFound(what: string): RefusedError {
  return new RefusedError('not_found', `There is no ${what} with this id.`);
}
