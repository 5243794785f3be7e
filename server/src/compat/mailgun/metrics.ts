import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import {
  type Counts,
  type Interval,
  intervalsOf,
  readStats,
  type StatsFilter,
  startAfter,
  startOf,
} from '../statistics.ts';
import { periodOf, RESOLUTIONS } from './statistics.ts';

/**
 * https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/metrics. Counts are those of
 * the statistics; rates are only offered where Mailgun defines them as a share of what was delivered.
 */

const COUNTS = {
  accepted_count: ({ accepted }) => accepted,
  accepted_outgoing_count: ({ accepted }) => accepted,
  delivered_count: ({ delivered }) => delivered,
  delivered_smtp_count: ({ delivered }) => delivered,
  permanent_failed_count: (counts) => bounced(counts) + counts.suppressed,
  temporary_failed_count: ({ deferred }) => deferred,
  bounced_count: bounced,
  delayed_bounce_count: (counts) => counts.bounced_later,
  suppressed_bounces_count: ({ suppressed_by_reason: by }) => by.hard_bounce ?? 0,
  suppressed_complaints_count: ({ suppressed_by_reason: by }) => by.complaint ?? 0,
  suppressed_unsubscribed_count: ({ suppressed_by_reason: by }) => by.unsubscribe ?? 0,
  opened_count: ({ opened }) => opened,
  unique_opened_count: ({ opened }) => opened,
  clicked_count: ({ links_clicked }) => links_clicked,
  unique_clicked_count: ({ clicked }) => clicked,
  complained_count: ({ complained }) => complained,
  unsubscribed_count: ({ unsubscribed }) => unsubscribed,
} as const satisfies Record<string, (counts: Counts) => number>;

/** Shares of what was delivered. */
const RATES = {
  opened_rate: COUNTS.opened_count,
  unique_opened_rate: COUNTS.unique_opened_count,
  clicked_rate: COUNTS.clicked_count,
  unique_clicked_rate: COUNTS.unique_clicked_count,
  complained_rate: COUNTS.complained_count,
  unsubscribed_rate: COUNTS.unsubscribed_count,
} as const satisfies Record<string, (counts: Counts) => number>;

type Metric = keyof typeof COUNTS | keyof typeof RATES;

const METRICS = [...Object.keys(COUNTS), ...Object.keys(RATES)] as Metric[];
const DEFAULT_METRICS: Metric[] = ['accepted_outgoing_count', 'delivered_smtp_count'];

const Query = closed(
  {
    start: Type.Optional(Type.String()),
    end: Type.Optional(Type.String()),
    resolution: Type.Optional(oneOf(RESOLUTIONS)),
    duration: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,3}[hdm]$', examples: ['7d'] })),
    dimensions: Type.Optional(
      Type.Array(Type.Literal('time'), {
        maxItems: 1,
        description: 'One item for each interval; otherwise one for the whole period.',
      }),
    ),
    metrics: Type.Optional(Type.Array(oneOf(METRICS), { minItems: 1 })),
    filter: Type.Optional(
      closed({
        AND: Type.Array(
          closed({
            attribute: oneOf(['domain', 'tag']),
            comparator: Type.Literal('='),
            values: Type.Array(
              closed({ label: Type.Optional(Type.String()), value: Type.String() }),
              { minItems: 1, maxItems: 1 },
            ),
          }),
          {
            maxItems: 1,
            description: 'Messages are counted by domain and by tag, but not by both.',
          },
        ),
      }),
    ),
    include_subaccounts: Type.Optional(Type.Boolean({ description: 'There are none.' })),
    include_aggregates: Type.Optional(Type.Boolean()),
  },
  { title: 'MailgunMetricsQuery' },
);

const Metrics = Type.Object(
  {
    start: Type.String(),
    end: Type.String(),
    resolution: Type.String(),
    dimensions: Type.Array(Type.String()),
    items: Type.Array(
      Type.Object({ dimensions: Type.Array(Type.Object({})), metrics: Type.Object({}) }),
    ),
    aggregates: Type.Object({}),
    pagination: Type.Object({ total: Type.Integer() }),
  },
  { title: 'MailgunMetrics' },
);

export function metricsOperation(deps: CompatDependencies): Operation {
  return operation(
    {
      id: 'mailgunQueryMetrics',
      method: 'POST',
      path: '/v1/analytics/metrics',
      tag: 'Messages',
      summary: 'Query metrics',
      description: 'Intervals are in UTC.',
      scope: 'read:messages',
      notAudited: 'changes nothing',
      body: Query,
      responses: { 200: { description: 'The metrics.', body: Metrics } },
    },
    async (request) => {
      const { body: query } = request;
      const { dimensions = [], metrics = DEFAULT_METRICS, duration } = query;
      const { startMs, endMs, resolution } = periodOf(query, deps.clock.now());
      const period = { fromMs: startOf(startMs, resolution), toMs: startAfter(endMs, resolution) };
      const stats = await readStats(deps, request, {
        ...period,
        interval: resolution === 'hour' ? 'hour' : 'day',
        begin: 'start',
        filter: filterOf(query),
      });
      const values = (counts: Counts) =>
        Object.fromEntries(metrics.map((metric) => [metric, metricOf(metric, counts)]));
      const items =
        dimensions.length > 0
          ? intervalsOf(stats, period, resolution).map((one) => ({
              dimensions: [timeOf(one)],
              metrics: values(one.counts),
            }))
          : [{ dimensions: [], metrics: values(stats.totals) }];
      return {
        status: 200,
        body: {
          start: toDate(period.fromMs),
          end: toDate(startOf(endMs, resolution)),
          resolution,
          ...(duration === undefined ? {} : { duration }),
          dimensions,
          items,
          aggregates: { metrics: query.include_aggregates ? values(stats.totals) : {} },
          pagination: { sort: '', skip: 0, limit: items.length, total: items.length },
        },
      };
    },
  );
}

function filterOf({ filter }: Static<typeof Query>): StatsFilter | undefined {
  const [only] = filter?.AND ?? [];
  if (!only) return undefined;
  const [{ value }] = only.values as [{ value: string }];
  return { group_by: only.attribute, value, parameter: only.attribute };
}

function bounced({ bounced, failed, expired }: Counts): number {
  return bounced + failed + expired;
}

function metricOf(metric: Metric, counts: Counts): number | string {
  if (metric in COUNTS) return COUNTS[metric as keyof typeof COUNTS](counts);
  const part = RATES[metric as keyof typeof RATES](counts);
  return (counts.delivered === 0 ? 0 : part / counts.delivered).toFixed(4);
}

function timeOf({ startMs }: Interval): object {
  const time = toDate(startMs);
  return { dimension: 'time', value: time, display_value: time };
}

/** As in mail: `Wed, 01 Nov 2023 00:00:00 +0000`. */
function toDate(ms: number): string {
  return new Date(ms).toUTCString().replace(/GMT$/, '+0000');
}
