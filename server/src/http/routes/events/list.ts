import { Type } from 'typebox';
import { requireAuditScope } from '../../../accounts/audit-scope.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import {
  committedPosition,
  EVENT_LOG_START,
  type EventPosition,
  publicEvent,
} from '../../../events/events-store.ts';
import {
  EVENT_LOG_END,
  type FeedFilter,
  type FeedOrder,
  readFeed,
  scansEvents,
} from '../../../events/feed-store.ts';
import { decodeId } from '../../../lib/ids.ts';
import { TAG_LENGTH_MAX } from '../../../messages/accept/send-limits.ts';
import { type ListSources, listReads } from '../../list-reads.ts';
import { closed, LIMIT_DEFAULT, oneOf, PAGE } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import {
  parseAddressParameter,
  parseDomainParameter,
  parseTimeParameter,
} from '../../validation/query-parameters.ts';
import { StreamFilter } from '../streams/schemas.ts';
import {
  EventTypeFilter,
  encodeDescendingCursor,
  encodeEventCursor,
  LATEST,
  parseEventCursor,
  parseEventTypes,
} from './event-query.ts';
import { Event } from './event-schemas.ts';

const EventListQuery = closed({
  ...PAGE,
  cursor: Type.Optional(
    Type.String({
      maxLength: 512,
      description:
        '`next_cursor` of the previous page with the same `order`, or `latest` for the current ' +
        'end of the log.',
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
  stream: StreamFilter,
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: TAG_LENGTH_MAX })),
  domain: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The domain of the sender’s address, for events of messages.',
    }),
  ),
  created_after: Type.Optional(Type.String({ format: 'date-time' })),
  created_before: Type.Optional(Type.String({ format: 'date-time' })),
});

const EventPage = Type.Object(
  {
    data: Type.Array(Event),
    next_cursor: Type.String({
      description: 'Continue here in the same order; with `asc` also at a later time.',
      examples: ['WzE4NDQyLCJldnQiXQ'],
    }),
    has_more: Type.Boolean(),
    follow_cursor: Type.Optional(
      Type.String({
        description:
          'On the first page of `order=desc`: where `order=asc` and the stream continue with ' +
          'future events.',
        examples: ['WzE4NDQyLCJldnQiXQ'],
      }),
    ),
  },
  { title: 'EventPage' },
);

export function listEvents(deps: ListSources & { filteredLists: LargeResponseLimiter }): Operation {
  return operation(
    {
      id: 'listEvents',
      method: 'GET',
      path: '/events',
      tag: 'Events',
      summary: 'List events',
      description:
        'Oldest first and without gaps: a client that continues from `next_cursor` sees every ' +
        'event exactly once, even if transactions commit out of order. `next_cursor` is never ' +
        'null: keep it and continue later, or start at `cursor=latest` to read only future ' +
        'events. `order=desc` starts with the newest event and goes back; its first page has a ' +
        '`follow_cursor`, from which the stream or an ascending client continues without a ' +
        'gap. With a filter, a page may be short or empty while `has_more` is true, because a ' +
        'request examines a limited number of events.',
      scope: 'read:events',
      query: EventListQuery,
      queryParsers: [
        ({ cursor, order = 'asc' }, invalid) =>
          typeof cursor !== 'string' ||
          cursor === LATEST ||
          invalid.has('order') ||
          parseEventCursor(cursor, order as FeedOrder),
        ({ type }) => typeof type === 'string' && parseEventTypes(type),
        (query) => parseAddressParameter('recipient', 'recipient', query),
        (query) => parseDomainParameter('senderDomain', 'domain', query),
      ],
      responses: {
        200: { description: 'A page of events.', body: EventPage },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const order = query.order ?? 'asc';
      const filter = filterOf(query);
      requireAuditScope(caller, filter?.types);
      if (filter && scansEvents(filter))
        await deps.filteredLists.acquire(caller.workspaceId, signal);
      const { from, ...found } = await listReads(deps, caller).run(async (pool) => {
        const from = await parseCursor(pool, query.cursor, order);
        // An id that cannot exist has no events.
        if (!filter)
          return {
            from,
            events: [],
            next: from,
            hasMore: false,
            committed: await committedPosition(pool),
          };
        return { from, ...(await readFeed(pool, caller, from, limit, filter, order)) };
      });
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

async function parseCursor(
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
    ...parseDomainParameter('senderDomain', 'domain', query),
  };
  if (typeof query.type === 'string') filter.types = parseEventTypes(query.type);
  if (typeof query.stream === 'string') filter.stream = query.stream;
  if (typeof query.tag === 'string') filter.tag = query.tag;
  if (typeof query.message_id === 'string') {
    const messageId = decodeId('msg', query.message_id);
    if (messageId === undefined) return undefined;
    filter.messageId = messageId;
  }
  return filter;
}
