import { Type } from 'typebox';
import type { Pool } from '../../../db/pool.ts';
import {
  EVENT_LOG_START,
  type EventPosition,
  committedPosition,
  publicEvent,
} from '../../../events/events-store.ts';
import {
  type FeedFilter,
  type FeedOrder,
  EVENT_LOG_END,
  readFeed,
} from '../../../events/feed-store.ts';
import { decodeId } from '../../../lib/ids.ts';
import { closed, LIMIT_DEFAULT, oneOf, PAGE } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { parseAddressParameter, parseTimeParameter } from '../../validation/query-parameters.ts';
import {
  encodeDescendingCursor,
  EventTypeFilter,
  LATEST,
  encodeEventCursor,
  parseEventCursor,
  parseEventTypes,
} from './event-query.ts';
import { Event } from './schemas.ts';

export function listEvents(deps: { pool: Pool }): Operation {
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
        'it and come back later, or begin at `cursor=latest` to read only what is still to come. ' +
        '`order=desc` begins with the newest and goes back; its first page has a `follow_cursor`, ' +
        'from which the stream or an ascending reader goes on without a gap. With a filter a page ' +
        'may be short or empty while `has_more` is true: a request looks at a bounded number of events.',
      scope: 'read:events',
      query: closed({
        ...PAGE,
        cursor: Type.Optional(
          Type.String({
            maxLength: 512,
            description:
              '`next_cursor` of the page before, which belongs to its `order`; or `latest`, the end ' +
              'of the ledger now.',
          }),
        ),
        order: Type.Optional(
          Type.Unsafe<FeedOrder>({
            ...oneOf(['asc', 'desc'] as const),
            default: 'asc',
            description: '`asc`: oldest first. `desc`: newest first.',
          }),
        ),
        type: EventTypeFilter,
        message_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        recipient: Type.Optional(
          Type.String({ minLength: 1, maxLength: 320, description: 'A recipient’s address.' }),
        ),
        tag: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        created_after: Type.Optional(Type.String({ format: 'date-time' })),
        created_before: Type.Optional(Type.String({ format: 'date-time' })),
      }),
      queryParsers: [
        ({ cursor, order = 'asc' }, faulty) =>
          typeof cursor !== 'string' ||
          cursor === LATEST ||
          faulty.has('order') ||
          parseEventCursor(cursor, order as FeedOrder),
        ({ type }) => typeof type === 'string' && parseEventTypes(type),
        (query) => parseAddressParameter('recipient', 'recipient', query),
      ],
      responses: {
        200: {
          description: 'A page of events.',
          body: Type.Object(
            {
              data: Type.Array(Event),
              next_cursor: Type.String({
                description: 'Goes on here in the same order; with `asc` also later.',
                examples: ['WzE4NDQyLCJldnQiXQ'],
              }),
              has_more: Type.Boolean(),
              follow_cursor: Type.Optional(
                Type.String({
                  description:
                    'On the first page of `order=desc`: where `order=asc` and the stream go on with ' +
                    'what happens next.',
                  examples: ['WzE4NDQyLCJldnQiXQ'],
                }),
              ),
            },
            { title: 'EventPage' },
          ),
        },
      },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const order = query.order ?? 'asc';
      const filter = filterOf(query);
      const from = await placeOf(deps.pool, query.cursor, order);
      // A message that cannot exist has no events.
      const found = filter
        ? await readFeed(deps.pool, caller, from, limit, filter, order)
        : { events: [], next: from, hasMore: false, committed: await committedPosition(deps.pool) };
      const cursorOf = order === 'asc' ? encodeEventCursor : encodeDescendingCursor;
      return {
        status: 200,
        body: {
          data: found.events.map(publicEvent),
          next_cursor: cursorOf(found.next),
          has_more: found.hasMore,
          ...(from === EVENT_LOG_END ? { follow_cursor: encodeEventCursor(found.committed) } : {}),
        },
      };
    },
  );
}

async function placeOf(
  pool: Pool,
  cursor: string | undefined,
  order: FeedOrder,
): Promise<EventPosition> {
  if (order === 'desc' && (cursor === undefined || cursor === LATEST)) return EVENT_LOG_END;
  if (cursor === LATEST) return committedPosition(pool);
  return cursor === undefined ? EVENT_LOG_START : parseEventCursor(cursor, order);
}

function filterOf(query: Record<string, unknown>): FeedFilter | undefined {
  const filter: FeedFilter = {
    ...parseTimeParameter('createdAfterMs', 'created_after', query),
    ...parseTimeParameter('createdBeforeMs', 'created_before', query),
    ...parseAddressParameter('recipient', 'recipient', query),
  };
  if (typeof query.type === 'string') filter.types = parseEventTypes(query.type);
  if (typeof query.tag === 'string') filter.tag = query.tag;
  if (typeof query.message_id === 'string') {
    const messageId = decodeId('msg', query.message_id);
    if (messageId === undefined) return undefined;
    filter.messageId = messageId;
  }
  return filter;
}
