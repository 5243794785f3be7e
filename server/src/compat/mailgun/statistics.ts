import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { refusedOperation } from '../refused-operation.ts';
import {
  type Counts,
  DAY_MS,
  HOUR_MS,
  intervalsOf,
  readStats,
  type StatsFilter,
  startAfter,
  startOf,
} from '../statistics.ts';
import { DomainPath, pathDomain } from './domain-path.ts';
import { toDate, toTime } from './times.ts';

/**
 * https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/stats. Opens and clicks are
 * those that events report, of people: the first open, and the first click on each link.
 */

const EVENTS = {
  accepted: ({ accepted }) => ({ outgoing: accepted, total: accepted }),
  delivered: ({ delivered }) => ({ smtp: delivered, http: 0, total: delivered }),
  failed: (counts) => {
    const { deferred, bounced, bounced_later, failed, expired, suppressed } = counts;
    const { hard_bounce = 0, unsubscribe = 0, complaint = 0 } = counts.suppressed_by_reason;
    return {
      temporary: { total: deferred },
      permanent: {
        bounce: bounced - bounced_later,
        'delayed-bounce': bounced_later,
        'suppress-bounce': hard_bounce,
        'suppress-unsubscribe': unsubscribe,
        'suppress-complaint': complaint,
        total: bounced + failed + expired + suppressed,
      },
    };
  },
  opened: ({ opened }) => ({ total: opened }),
  clicked: ({ links_clicked }) => ({ total: links_clicked }),
  unsubscribed: ({ unsubscribed }) => ({ total: unsubscribed }),
  complained: ({ complained }) => ({ total: complained }),
} as const satisfies Record<string, (counts: Counts) => object>;

const NAMES = Object.keys(EVENTS) as (keyof typeof EVENTS)[];
export const RESOLUTIONS = ['hour', 'day', 'month'] as const;
type Resolution = (typeof RESOLUTIONS)[number];

const Event = oneOf(NAMES);

const Query = closed({
  event: Type.Union([Event, Type.Array(Event, { minItems: 1 })], {
    description: 'Inbound messages (`stored`) are not counted.',
  }),
  start: Type.Optional(Type.String()),
  end: Type.Optional(Type.String()),
  resolution: Type.Optional(oneOf(RESOLUTIONS)),
  duration: Type.Optional(
    Type.String({
      pattern: '^[1-9]\\d{0,3}[hdm]$',
      description: 'Hours, days or months before `end`: sets `start` and `resolution`.',
      examples: ['24h', '7d', '2m'],
    }),
  ),
});

const Stats = Type.Object(
  {
    start: Type.String(),
    end: Type.String(),
    resolution: Type.String(),
    stats: Type.Array(Type.Object({ time: Type.String() })),
  },
  { title: 'MailgunStats' },
);

const SPEC = {
  method: 'GET',
  tag: 'Messages',
  description: 'Intervals are in UTC.',
  scope: 'read:messages',
  query: Query,
  responses: { 200: { description: 'The counts of each interval.', body: Stats } },
} as const;

export function statisticsOperations(deps: CompatDependencies): Operation[] {
  return [
    operation(
      {
        ...SPEC,
        id: 'mailgunGetAccountStats',
        path: '/v3/stats/total',
        summary: 'Retrieve the statistics of all domains',
      },
      async (request) => ({ status: 200, body: await count(deps, request, request.query) }),
    ),
    operation(
      {
        ...SPEC,
        id: 'mailgunGetDomainStats',
        path: '/v3/{domain}/stats/total',
        summary: 'Retrieve the statistics of a domain',
        params: DomainPath,
      },
      async (request) => {
        const domain = pathDomain(request.params);
        const filter = { group_by: 'domain', value: domain, parameter: 'domain' } as const;
        return { status: 200, body: await count(deps, request, request.query, filter) };
      },
    ),
    refusedOperation(
      {
        id: 'mailgunGetTagStats',
        method: 'GET',
        path: '/v3/{domain}/tags/{tag}/stats',
        tag: 'Messages',
        summary: 'Retrieve the statistics of a tag',
      },
      'not_found',
      'Messages are counted by domain and by tag, but not by both. `GET /api/v1/stats?group_by=tag` counts the tags of all domains.',
    ),
  ];
}

async function count(
  deps: CompatDependencies,
  request: AnyRequest,
  query: Static<typeof Query>,
  filter?: StatsFilter,
): Promise<object> {
  const { startMs, endMs, resolution } = periodOf(query, deps.clock.now());
  const period = { fromMs: startOf(startMs, resolution), toMs: startAfter(endMs, resolution) };
  const interval = resolution === 'hour' ? 'hour' : 'day';
  const stats = await readStats(deps, request, { ...period, interval, begin: 'start', filter });
  const events = new Set([query.event].flat());
  return {
    start: toDate(period.fromMs),
    end: toDate(startOf(endMs, resolution)),
    resolution,
    stats: intervalsOf(stats, period, resolution).map((one) => ({
      time: toDate(one.startMs),
      ...Object.fromEntries([...events].map((event) => [event, EVENTS[event](one.counts)])),
    })),
  };
}

const UNITS = { h: 'hour', d: 'day', m: 'month' } as const;
const DEFAULT_MS = 7 * DAY_MS;

export function periodOf(
  { start, end, resolution = 'day', duration }: Omit<Static<typeof Query>, 'event'>,
  nowMs: number,
): { startMs: number; endMs: number; resolution: Resolution } {
  const endMs = Math.min(msOf(end, 'end') ?? nowMs, nowMs);
  if (duration === undefined) {
    return { startMs: msOf(start, 'start') ?? endMs - DEFAULT_MS, endMs, resolution };
  }
  const unit = UNITS[duration.at(-1) as keyof typeof UNITS];
  return { startMs: before(endMs, Number.parseInt(duration, 10), unit), endMs, resolution: unit };
}

function msOf(text: string | undefined, parameter: string): number | undefined {
  const time = toTime(text, parameter);
  return time === undefined ? undefined : Date.parse(time);
}

function before(endMs: number, n: number, unit: Resolution): number {
  if (unit !== 'month') return endMs - n * (unit === 'hour' ? HOUR_MS : DAY_MS);
  const end = new Date(endMs);
  return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - n, 1);
}
