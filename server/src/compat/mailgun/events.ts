import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { DomainPath, pathDomain } from './domain-path.ts';
import { messageIdOf, type OurEvent, toItems, typesOf } from './event-items.ts';
import {
  decodePage,
  type EventPage,
  encodePage,
  LIMIT_MAX,
  neighborsOf,
  orderOf,
} from './event-page.ts';
import { MESSAGE_ID_FIELD } from './message-form.ts';
import { pageUrl } from './paging.ts';
import { toTime } from './times.ts';

/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/events */

const Text = Type.Optional(Type.String({ minLength: 1, maxLength: 500 }));

const Query = closed({
  event: Text,
  begin: Text,
  end: Text,
  ascending: Type.Optional(oneOf(['yes', 'no', 'true', 'false'] as const)),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX })),
  tags: Text,
  recipient: Text,
  'message-id': Text,
  severity: Type.Optional(oneOf(['temporary', 'permanent'] as const)),
});

const List = Type.Object(
  { items: Type.Array(Type.Object({})), paging: Type.Record(Type.String(), Type.String()) },
  { title: 'MailgunEvents' },
);

const LIMIT_DEFAULT = 100;

/**
 * Our own list examines a limited number of events per call, so a page of rare ones may be empty
 * before the end. Clients of Mailgun stop at an empty page, so the search continues for this long.
 */
const CALLS_MAX = 50;

export function eventOperations(deps: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'mailgunListEvents',
        method: 'GET',
        path: '/v3/{domain}/events',
        tag: 'Events',
        summary: 'List events',
        description:
          'Events of messages from `domain`. Follow `paging.next` until a page is empty, and again later for new events.',
        scope: 'read:events',
        params: DomainPath,
        query: Query,
        responses: { 200: { description: 'A page of events.', body: List } },
      },
      async (request) => {
        const page = toPage(request.query);
        return await list(deps, request, pathDomain(request.params), page);
      },
    ),
    operation(
      {
        id: 'mailgunListEventsPage',
        method: 'GET',
        path: '/v3/{domain}/events/{page}',
        tag: 'Events',
        summary: 'List a further page of events',
        description:
          'The page contains the query of its list; a query that is repeated is ignored.',
        scope: 'read:events',
        params: Type.Object({ ...DomainPath.properties, page: Type.String() }),
        query: Query,
        responses: { 200: { description: 'A page of events.', body: List } },
      },
      async (request) => {
        const { params } = request;
        return await list(deps, request, pathDomain(params), decodePage(params.page));
      },
    ),
  ];
}

function toPage(query: Static<typeof Query>): EventPage {
  const begin = toTime(query.begin, 'begin');
  const end = toTime(query.end, 'end');
  const ascending = query.ascending
    ? /^(yes|true)$/.test(query.ascending)
    : begin !== undefined && end !== undefined && begin < end;
  // Mailgun's range begins where its order does.
  const [after, before] = ascending ? [begin, end] : [end, begin];
  const { limit = LIMIT_DEFAULT, recipient, tags, 'message-id': messageId } = query;
  return {
    query: {
      types: typesOf(query.event, query.severity),
      limit,
      ...(tags === undefined ? {} : { tags: parseTags(tags) }),
      ...(recipient === undefined ? {} : { recipient }),
      ...(messageId === undefined ? {} : { messageId: messageId.replace(/^<|>$/g, '') }),
      ...(after === undefined ? {} : { after }),
      ...(before === undefined ? {} : { before }),
    },
    ascending,
    backwards: false,
  };
}

/** `a AND b`, `a OR b`, or `a AND "two words" OR c`. */
function parseTags(text: string): string[][] {
  const groups: string[][][] = [[[]]];
  for (const [word, quoted] of text.matchAll(/"([^"]*)"|[^\s"]+/g)) {
    const group = groups.at(-1) as string[][];
    if (quoted === undefined && /^or$/i.test(word)) groups.push([[]]);
    else if (quoted === undefined && /^and$/i.test(word)) group.push([]);
    else group.at(-1)?.push(quoted ?? word);
  }
  return groups.map((group) => group.map((words) => words.join(' ')));
}

async function list(
  deps: CompatDependencies,
  request: AnyRequest,
  domain: string,
  page: EventPage,
) {
  const found = await readPage(deps, request, domain, page);
  const { query, ascending } = page;
  const { next, previous } = neighborsOf(page, found.cursor);
  const link = (to: EventPage): string =>
    pageUrl(deps.baseUrl, `/v3/${domain}/events/${encodePage(to)}`);
  return {
    status: 200,
    body: {
      items: found.events.flatMap((event) => toItems(event, domain)),
      paging: {
        next: link(next),
        previous: link(previous),
        first: link({ query, ascending, backwards: false }),
        last: link({ query, ascending, backwards: true }),
      },
    },
  };
}

interface FoundEvents {
  /** In the order of the list. */
  events: OurEvent[];
  /** Where reading ended. */
  cursor: string;
  hasMore: boolean;
}

export async function readPage(
  { call }: CompatDependencies,
  request: AnyRequest,
  domain: string,
  page: EventPage,
): Promise<FoundEvents> {
  const { types, limit, tags, recipient, after, before } = page.query;
  const message = await messageFilter(call, request, page.query.messageId);
  const [tag] = tags?.length === 1 ? (tags[0] as string[]) : [];
  const filter: Record<string, string> = {
    order: orderOf(page),
    domain,
    // A list without types would be one of all types.
    type: types.length > 0 ? types.join(',') : NEVER,
    ...(recipient === undefined ? {} : { recipient }),
    ...(tag === undefined ? {} : { tag }),
    ...message.query,
    ...(after === undefined ? {} : { created_after: after }),
    ...(before === undefined ? {} : { created_before: before }),
  };
  const events: OurEvent[] = [];
  let { cursor } = page;
  let hasMore = false;
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    const query: Record<string, string> = {
      ...filter,
      limit: String(Math.min(100, limit - events.length)),
      ...(cursor === undefined ? {} : { cursor }),
    };
    const { body } = await call(request, 'listEvents', { query });
    cursor = body.next_cursor as string;
    events.push(
      ...(body.data as OurEvent[]).filter(
        (event) => hasTags(event, tags) && message.matches(event, domain),
      ),
    );
    hasMore = body.has_more;
    if (events.length >= limit || !hasMore) break;
  }
  return { events: page.backwards ? events.reverse() : events, cursor: cursor as string, hasMore };
}

/** An event that belongs to no message, and so to no domain. */
const NEVER = 'webhook.disabled';

function hasTags({ data }: OurEvent, tags: string[][] | undefined): boolean {
  if (tags === undefined) return true;
  return tags.some((group) => group.every((tag) => data.tags.includes(tag)));
}

interface MessageFilter {
  query: Record<string, string>;
  matches(event: OurEvent, domain: string): boolean;
}

/** A Message-ID belongs to one message, or to all messages of a batch. */
async function messageFilter(
  call: CompatDependencies['call'],
  request: AnyRequest,
  messageId: string | undefined,
): Promise<MessageFilter> {
  if (messageId === undefined) return { query: {}, matches: () => true };
  const matches: MessageFilter['matches'] = (event, domain) =>
    messageIdOf(event, domain) === messageId;
  const find = async (query: Record<string, string>) =>
    (await call(request, 'listMessages', { query: { ...query, limit: '1' } })).body.data[0];
  const single = await find({ header_message_id: messageId });
  if (single) return { query: { message_id: single.id }, matches };
  const inBatch = await find({ [`metadata[${MESSAGE_ID_FIELD}]`]: messageId });
  if (!inBatch) return { query: { type: NEVER }, matches };
  const atMs = Date.parse(inBatch.created_at) - BATCH_SECONDS_MAX * 1000;
  return { query: { created_after: new Date(atMs).toISOString() }, matches };
}

/** The parts of a batch are sent one after the other. */
const BATCH_SECONDS_MAX = 600;
