import { Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import type { EventPosition } from '../../../events/events-store.ts';
import type { FeedOrder } from '../../../events/feed-store.ts';
import { didYouMean } from '../../../lib/did-you-mean.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { decodeParts, encodeParts, invalidCursor, isUuid } from '../../validation/cursor.ts';

/** Parameters of the event log, shared by the list and the stream. */

const KNOWN = new Set<string>(EVENT_TYPES.flatMap((type) => [type, `${type.split('.')[0]}.*`]));

export const EventTypeFilter = Type.Optional(
  Type.String({
    pattern: '^[a-z_]+\\.([a-z_]+|\\*)(,[a-z_]+\\.([a-z_]+|\\*))*$',
    maxLength: 500,
    examples: ['message.*'],
    description:
      'An event type, a family such as `message.*`, or several separated by commas. Events of the ' +
      'audit log are included only if they are selected, which requires `read:audit_log`.',
  }),
);

export function parseEventTypes(text: string): string[] {
  const types = text.split(',');
  const unknown = types.filter((type) => !KNOWN.has(type));
  if (unknown.length === 0) return types;
  const meant = unknown.length === 1 ? didYouMean(unknown[0] as string, KNOWN) : undefined;
  const suggestion = meant === undefined ? '' : ` Did you mean ${meant}?`;
  const detail = `Unknown event type: ${unknown.join(', ')}.${suggestion}`;
  throw new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'type', code: 'unknown_value', detail }],
  });
}

/**
 * The cursor of the event list and the id of events in a stream; reading continues upward from
 * it. Clients may keep it indefinitely, so its format must not change. No other list uses a
 * number and a UUID.
 */
export function encodeEventCursor({ tx, id }: EventPosition): string {
  return encodeParts([tx, id]);
}

/** A cursor for descending order, which must not be mistaken for an ascending one. */
export function encodeDescendingCursor({ tx, id }: EventPosition): string {
  return encodeParts([tx, id, DESCENDING]);
}

const DESCENDING = 'desc';

/** Used instead of a cursor: the current end of the event log. */
export const LATEST = 'latest';

export function parseEventCursor(cursor: string, order: FeedOrder = 'asc'): EventPosition {
  const [tx, id, direction, ...more] = decodeParts(cursor);
  const known = direction === undefined || direction === DESCENDING;
  if (typeof tx !== 'number' || !isUuid(id) || !known || more.length > 0) throw invalidCursor();
  const given = direction === DESCENDING ? 'desc' : 'asc';
  if (given === order) return { tx, id };
  throw invalidCursor(`This cursor was issued for order=${given} and works only with that order.`);
}
