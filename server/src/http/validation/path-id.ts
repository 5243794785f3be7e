import { decodeId, type IdPrefix } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';

/** The uuid in a path. What cannot be an id of this kind is answered like one that never was. */
export function decodePathId(prefix: IdPrefix, id: string, what: string): string {
  const uuid = decodeId(prefix, id);
  if (uuid === undefined) throw notFound(what);
  return uuid;
}

/** The same words for an id that never was, one that is gone, and one of another tenant. */
export function notFound(what: string): RefusedError {
  return new RefusedError('not_found', `There is no ${what} with this id.`);
}
