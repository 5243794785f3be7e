import { Type } from 'typebox';
import { RefusedError } from '../../base/refused-error.ts';
import { EVENT_TYPES } from '../../events/event-types.ts';
import type { LedgerPosition } from '../../events/events-store.ts';
import { badCursor, decodeCursor, encodeCursor } from './cursor.ts';

/** What reading the ledger takes, by page and as a stream. */

const KNOWN = new Set<string>(EVENT_TYPES.flatMap((type) => [type, `${type.split('.')[0]}.*`]));

export const EventTypeFilter = Type.Optional(
  Type.String({
    pattern: '^[a-z_]+\\.([a-z_]+|\\*)(,[a-z_]+\\.([a-z_]+|\\*))*$',
    maxLength: 500,
    description: 'One type, a family such as `message.*`, or several separated by commas.',
  }),
);

export function typesOf(text: string): string[] {
  const types = text.split(',');
  const unknown = types.filter((type) => !KNOWN.has(type));
  if (unknown.length === 0) return types;
  const detail = `There is no event type ${unknown.join(', ')}.`;
  throw new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'type', code: 'unknown_value', detail }],
  });
}

export function ledgerCursor({ tx, id }: LedgerPosition): string {
  return encodeCursor([tx, id]);
}

export function ledgerPosition(cursor: string): LedgerPosition {
  const [tx, id] = decodeCursor(cursor, 2);
  if (typeof tx !== 'number' || typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id)) {
    throw badCursor();
  }
  return { tx, id };
}
