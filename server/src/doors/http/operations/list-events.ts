import { Type } from 'typebox';
import { decodeId } from '../../../base/ids.ts';
import {
  type FeedFilter,
  LEDGER_START,
  publicEvent,
  readFeed,
} from '../../../events/events-store.ts';
import { parseMailbox } from '../../../mail/address.ts';
import type { Pool } from '../../../storage/pool.ts';
import { EventTypeFilter, ledgerCursor, ledgerPosition, typesOf } from '../event-query.ts';
import { operation } from '../operation.ts';
import { closed, LIMIT_DEFAULT, PAGE } from '../schemas/common.ts';
import { Event } from '../schemas/events.ts';
import { timeParameter } from '../time-parameter.ts';

export function listEvents(parts: { pool: Pool }) {
  return operation(
    {
      id: 'listEvents',
      method: 'GET',
      path: '/events',
      tag: 'Events',
      summary: 'Read the ledger of events',
      description:
        'Oldest first and without gaps: a reader that goes on from `next_cursor` sees every event ' +
        'exactly once, even when transactions commit out of order. `next_cursor` is never null: keep ' +
        'it and come back later. With a filter a page may be empty while `has_more` is true.',
      scope: 'read:events',
      query: closed({
        ...PAGE,
        type: EventTypeFilter,
        message_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        recipient: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
        tag: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        created_after: Type.Optional(Type.String({ format: 'date-time' })),
        created_before: Type.Optional(Type.String({ format: 'date-time' })),
      }),
      answers: {
        200: {
          description: 'A page of events.',
          body: Type.Object(
            {
              data: Type.Array(Event),
              next_cursor: Type.String({
                description: 'Resumes here, now or later.',
                examples: ['WzE4NDQyLCJldnQiXQ'],
              }),
              has_more: Type.Boolean(),
            },
            { title: 'EventPage' },
          ),
        },
      },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const after = query.cursor === undefined ? LEDGER_START : ledgerPosition(query.cursor);
      const filter = filterOf(query);
      // A message that cannot exist has no events.
      const found = filter
        ? await readFeed(parts.pool, caller, after, limit, filter)
        : { events: [], next: after, hasMore: false };
      return {
        status: 200,
        body: {
          data: found.events.map(publicEvent),
          next_cursor: ledgerCursor(found.next),
          has_more: found.hasMore,
        },
      };
    },
  );
}

function filterOf(query: Record<string, unknown>): FeedFilter | undefined {
  const filter: FeedFilter = {
    ...timeParameter('createdAfterMs', 'created_after', query),
    ...timeParameter('createdBeforeMs', 'created_before', query),
  };
  if (typeof query.type === 'string') filter.types = typesOf(query.type);
  if (typeof query.tag === 'string') filter.tag = query.tag;
  if (typeof query.recipient === 'string') {
    const parsed = parseMailbox(query.recipient);
    filter.recipient = parsed.ok ? parsed.mailbox.key : query.recipient.toLowerCase();
  }
  if (typeof query.message_id === 'string') {
    const messageId = decodeId('msg', query.message_id);
    if (messageId === undefined) return undefined;
    filter.messageId = messageId;
  }
  return filter;
}
