import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { DAY_MS, HOUR_MS } from '../statistics.ts';
import { type OurEvent, toItems, typesOf } from './event-items.ts';
import { decodePage, type EventPage, encodePage, LIMIT_MAX, neighborsOf } from './event-page.ts';
import { readPage } from './events.ts';
import { toTime } from './times.ts';

/**
 * https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/logs: the events again, of
 * the domain in the filter. A token contains the query of its list, except for the domain.
 */

const Query = closed(
  {
    start: Type.Optional(Type.String()),
    end: Type.Optional(Type.String()),
    duration: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,3}[hd]$', examples: ['2h'] })),
    events: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 20 })),
    filter: closed({
      AND: Type.Array(
        closed({
          attribute: oneOf(['domain', 'recipient', 'tag']),
          comparator: Type.Literal('='),
          values: Type.Array(
            closed({ label: Type.Optional(Type.String()), value: Type.String() }),
            { minItems: 1, maxItems: 1 },
          ),
        }),
        { maxItems: 10, description: 'One of them must be the domain.' },
      ),
    }),
    include_subaccounts: Type.Optional(Type.Boolean({ description: 'There are none.' })),
    pagination: Type.Optional(
      closed({
        sort: Type.Optional(oneOf(['timestamp:asc', 'timestamp:desc'])),
        token: Type.Optional(Type.String()),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX })),
      }),
    ),
  },
  { title: 'MailgunLogsQuery' },
);

const Logs = Type.Object(
  {
    start: Type.String(),
    end: Type.String(),
    items: Type.Array(Type.Object({})),
    pagination: Type.Record(Type.String(), Type.String()),
    aggregates: Type.Object({}),
  },
  { title: 'MailgunLogs' },
);

const LIMIT_DEFAULT = 100;

export function logsOperation(deps: CompatDependencies): Operation {
  return operation(
    {
      id: 'mailgunListLogs',
      method: 'POST',
      path: '/v1/analytics/logs',
      tag: 'Events',
      summary: 'List logs',
      description: 'Events of messages from the domain in `filter`, newest first.',
      scope: 'read:events',
      notAudited: 'changes nothing',
      body: Query,
      responses: { 200: { description: 'A page of events.', body: Logs } },
    },
    async (request) => {
      const { body: query } = request;
      const domain = domainOf(query);
      const period = periodOf(query, deps.clock.now());
      const token = query.pagination?.token;
      const page = token ? decodePage(token) : toPage(query, period);
      const found = await readPage(deps, request, domain, page);
      const { next, previous } = neighborsOf(page, found.cursor);
      return {
        status: 200,
        body: {
          start: new Date(period.startMs).toUTCString(),
          end: new Date(period.endMs).toUTCString(),
          items: found.events.flatMap((event) => toLogs(event, domain)),
          pagination: {
            // Clients read on as long as there is a next page.
            ...(found.hasMore || page.backwards ? { next: encodePage(next) } : {}),
            ...(token ? { previous: encodePage(previous) } : {}),
            first: encodePage({ query: page.query, ascending: page.ascending, backwards: false }),
          },
          aggregates: {},
        },
      };
    },
  );
}

function valuesOf({ filter }: Static<typeof Query>, name: string): string[] {
  return filter.AND.filter(({ attribute }) => attribute === name).flatMap(({ values }) =>
    values.map(({ value }) => value),
  );
}

function domainOf(query: Static<typeof Query>): string {
  const [domain, ...others] = valuesOf(query, 'domain');
  if (domain !== undefined && others.length === 0) return domain.toLowerCase();
  const detail = 'One of the filters must be the domain of the sender: `"attribute": "domain"`.';
  throw invalidFields([{ pointer: '/filter/AND', code: 'required', detail }]);
}

function periodOf({ start, end, duration }: Static<typeof Query>, nowMs: number) {
  const endTime = toTime(end, 'end');
  const startTime = toTime(start, 'start');
  const endMs = endTime === undefined ? nowMs : Date.parse(endTime);
  if (duration !== undefined) {
    const unitMs = duration.endsWith('h') ? HOUR_MS : DAY_MS;
    return { startMs: endMs - Number.parseInt(duration, 10) * unitMs, endMs };
  }
  return { startMs: startTime === undefined ? endMs - DAY_MS : Date.parse(startTime), endMs };
}

function toPage(
  query: Static<typeof Query>,
  { startMs, endMs }: { startMs: number; endMs: number },
): EventPage {
  const [recipient] = valuesOf(query, 'recipient');
  const tags = valuesOf(query, 'tag');
  const { sort, limit = LIMIT_DEFAULT } = query.pagination ?? {};
  return {
    query: {
      types: typesOf(query.events?.join(' or '), undefined),
      limit,
      ...(recipient === undefined ? {} : { recipient }),
      ...(tags.length === 0 ? {} : { tags: [tags] }),
      after: new Date(startMs).toISOString(),
      before: new Date(endMs).toISOString(),
    },
    ascending: sort === 'timestamp:asc',
    backwards: false,
  };
}

/** An item of the list of events, with the differences that logs have. */
function toLogs(event: OurEvent, domain: string): object[] {
  return toItems(event, domain).map(({ timestamp: _seconds, ...item }) => ({
    ...item,
    '@timestamp': event.created_at,
    domain: { name: domain },
    'user-variables': JSON.stringify(item['user-variables']),
  }));
}
