import { Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import type { EventPosition } from '../../../events/events-store.ts';
import type { FeedOrder } from '../../../events/feed-store.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { invalidCursor, decodeParts, encodeParts, isUuid } from '../../validation/cursor.ts';

/** What reading the ledger takes, by page and as a stream. */

const KNOWN = new Set<string>(EVENT_TYPES.flatMap((type) => [type, `${type.split('.')[0]}.*`]));

export const EventTypeFilter = Type.Optional(
  Type.String({
    pattern: '^[a-z_]+\\.([a-z_]+|\\*)(,[a-z_]+\\.([a-z_]+|\\*))*$',
    maxLength: 500,
    description: 'One type, a family such as `message.*`, or several separated by commas.',
  }),
);

export function parseEventTypes(text: string): string[] {
  const types = text.split(',');
  const unknown = types.filter((type) => !KNOWN.has(type));
  if (unknown.length === 0) return types;
  const detail = `There is no event type ${unknown.join(', ')}.`;
  throw new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'type', code: 'unknown_value', detail }],
  });
}

/**
 * The feed's cursor, and the id of events in a stream: reading goes on upwards from here. Readers keep
 * it for as long as they like, so it stays as it always was; no other list has a number and a uuid.
 */
export function encodeEventCursor({ tx, id }: EventPosition): string {
  return encodeParts([tx, id]);
}

/** A cursor of the other direction: it leads down, and must not be taken for one that leads up. */
export function encodeDescendingCursor({ tx, id }: EventPosition): string {
  return encodeParts([tx, id, DESCENDING]);
}

const DESCENDING = 'desc';

/** Instead of a cursor: the end of the ledger as it is now. */
export const LATEST = 'latest';

export function parseEventCursor(cursor: string, order: FeedOrder = 'asc'): EventPosition {
  const [tx, id, direction, ...more] = decodeParts(cursor);
  const known = direction === undefined || direction === DESCENDING;
  if (typeof tx !== 'number' || !isUuid(id) || !known || more.length > 0) throw invalidCursor();
  const given = direction === DESCENDING ? 'desc' : 'asc';
  if (given === order) return { tx, id };
  throw invalidCursor(`This cursor comes from order=${given}, and leads on in that order only.`);
}
