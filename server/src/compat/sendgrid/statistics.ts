import { type Static, Type } from 'typebox';
import type { BounceReason } from '../../events/event-types.ts';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { isUsuallyBlocked } from '../../webhooks/formats/sendgrid.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import {
  type Counts,
  type Interval,
  intervalsOf,
  readStats,
  type StatsFilter,
  startAfter,
} from '../statistics.ts';

/**
 * https://www.twilio.com/docs/sendgrid/api-reference/stats and /categories. Categories are tags. `opens`
 * and `clicks` are left out, because only the first ones of a recipient are recorded.
 */

const Day = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}$',
  description: 'A day in UTC.',
  examples: ['2026-11-15'],
});

const PERIOD = {
  start_date: Day,
  end_date: Type.Optional(Day),
  aggregated_by: Type.Optional(
    oneOf(['day', 'week', 'month'] as const, {
      description: 'Weeks begin on Monday. Default: `day`.',
    }),
  ),
};

const Period = closed(PERIOD);

const Category = Type.String({ minLength: 1, maxLength: 255 });
const Categories = Type.Optional(
  Type.Union([Category, Type.Array(Category, { minItems: 1, maxItems: 10 })]),
);

const Stats = Type.Array(
  Type.Object({
    date: Type.String(),
    stats: Type.Array(
      Type.Object({
        type: Type.Optional(Type.Literal('category')),
        name: Type.Optional(Type.String()),
        metrics: Type.Record(Type.String(), Type.Integer()),
      }),
    ),
  }),
  { title: 'SendGridStats' },
);

const RESPONSES = { 200: { description: 'The statistics of each interval.', body: Stats } };

export function statisticsOperations(deps: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'sendgridGetStats',
        method: 'GET',
        path: '/v3/stats',
        tag: 'Messages',
        summary: 'Retrieve statistics',
        scope: 'read:messages',
        query: closed({
          ...PERIOD,
          limit: Type.Optional(Type.Integer({ minimum: 1 })),
          offset: Type.Optional(Type.Integer({ minimum: 0 })),
        }),
        responses: RESPONSES,
      },
      async (request) => {
        const { limit = Number.POSITIVE_INFINITY, offset = 0, ...period } = request.query;
        const intervals = await read(deps, request, period);
        return {
          status: 200,
          body: intervals.slice(offset, offset + limit).map(({ startMs, counts }) => ({
            date: toDay(startMs),
            stats: [{ metrics: metricsOf(counts) }],
          })),
        };
      },
    ),
    operation(
      {
        id: 'sendgridGetCategoryStats',
        method: 'GET',
        path: '/v3/categories/stats',
        tag: 'Messages',
        summary: 'Retrieve statistics of categories',
        scope: 'read:messages',
        query: closed({
          ...PERIOD,
          categories: Categories,
          // As the client library writes a list.
          'categories[]': Categories,
        }),
        responses: RESPONSES,
      },
      async (request) => {
        const { categories, 'categories[]': list, ...period } = request.query;
        const names = [categories ?? list ?? []].flat();
        if (names.length === 0) {
          const detail = 'Name the categories whose statistics you want, at most 10.';
          throw invalidFields([{ parameter: 'categories', code: 'required', detail }]);
        }
        const found: { name: string; startMs: number; counts: Counts }[] = [];
        for (const name of names) {
          const filter = { group_by: 'tag', value: name, parameter: 'categories' } as const;
          const intervals = await read(deps, request, period, filter);
          found.push(...intervals.map((interval) => ({ name, ...interval })));
        }
        const dates = Map.groupBy(found, ({ startMs }) => toDay(startMs));
        return {
          status: 200,
          body: [...dates].map(([date, ofDate]) => ({
            date,
            stats: ofDate.map(({ name, counts }) => ({
              type: 'category',
              name,
              metrics: metricsOf(counts),
            })),
          })),
        };
      },
    ),
  ];
}

async function read(
  deps: CompatDependencies,
  request: AnyRequest,
  period: Static<typeof Period>,
  filter?: StatsFilter,
): Promise<Interval[]> {
  const { start_date: start, end_date: end, aggregated_by: resolution = 'day' } = period;
  const nowMs = deps.clock.now();
  const fromMs = parseDay(start, 'start_date');
  const lastMs = end === undefined ? nowMs : Math.min(parseDay(end, 'end_date'), nowMs);
  const days = { fromMs, toMs: startAfter(lastMs, 'day') };
  const wanted = { ...days, interval: 'day', begin: 'start_date', filter } as const;
  return intervalsOf(await readStats(deps, request, wanted), days, resolution);
}

function parseDay(text: string, parameter: string): number {
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && toDay(ms) === text) return ms;
  throw invalidFields([{ parameter, code: 'invalid_format', detail: 'There is no such day.' }]);
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function metricsOf(counts: Counts): Record<string, number> {
  const { accepted, suppressed, delivered, deferred, expired, complained } = counts;
  const {
    hard_bounce = 0,
    complaint = 0,
    unsubscribe = 0,
    manual = 0,
  } = counts.suppressed_by_reason;
  const { unknown_domain = 0, ...reasons } = counts.bounced_by_reason;
  const bounced = Object.entries(reasons) as [reason: BounceReason, n: number][];
  const sumOf = (bounces: typeof bounced) => bounces.reduce((sum, [, n]) => sum + n, 0);
  const blocked = bounced.filter(([reason]) => isUsuallyBlocked(reason));
  return {
    requests: accepted,
    processed: accepted - suppressed,
    delivered,
    deferred,
    blocks: sumOf(blocked) + expired,
    bounces: sumOf(bounced) - sumOf(blocked),
    invalid_emails: unknown_domain,
    bounce_drops: hard_bounce,
    spam_report_drops: complaint,
    unsubscribe_drops: unsubscribe + manual,
    spam_reports: complained,
    unsubscribes: counts.unsubscribed,
    unique_opens: counts.opened,
    unique_clicks: counts.clicked,
  };
}
