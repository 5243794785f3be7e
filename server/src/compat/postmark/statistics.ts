import { type Static, Type } from 'typebox';
import type { BounceReason } from '../../events/event-types.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { INTERVALS_MAX } from '../../http/routes/stats/get.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { BOUNCE_TYPES, postmarkBounceType } from '../../webhooks/formats/postmark.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { refusedOperation } from '../refused-operation.ts';
import {
  type Counts,
  DAY_MS,
  readStats,
  type Stats,
  type StatsFilter,
  startAfter,
  startOf,
} from '../statistics.ts';
import { periodOf, StatsQuery, streamOf } from './list-filter.ts';
import { allSuppressions } from './suppressions.ts';

/**
 * https://postmarkapp.com/developer/api/stats-api and /bounce-api#delivery-stats. Fields that our
 * statistics have no counts for are left out: all opens and clicks, because only first ones are
 * recorded, tracked emails, and everything about visitors.
 */

export function statisticsOperations(deps: CompatDependencies): Operation[] {
  return [
    deliveryStats(deps, 'postmarkGetDeliveryStats', '/deliverystats'),
    // As the client library spells it.
    deliveryStats(deps, 'postmarkGetDeliveryStatsCapital', '/deliveryStats'),
    overview(deps),
    ...STATISTICS.map((statistic) => byDay(deps, statistic)),
    ...Object.entries(NOT_COUNTED).map(refused),
  ];
}

function deliveryStats(deps: CompatDependencies, id: string, path: string): Operation {
  return operation(
    {
      id,
      method: 'GET',
      path,
      tag: 'Messages',
      summary: 'Retrieve delivery stats',
      description:
        'Bounces and complaints of the last four years by type, which follows from the reason, and ' +
        'the number of suppressed addresses. Also requires the scope `read:suppressions`.',
      scope: 'read:messages',
      responses: { 200: { description: 'The counts.', body: Type.Object({}) } },
    },
    async (request) => {
      const { totals } = await read(deps, request, {});
      const suppressions = await allSuppressions(deps.call, request);
      const all = { Name: 'All', Count: bouncedOf(totals) + totals.complained };
      const types = bouncesByType(totals).set(BOUNCE_TYPES.complaint, totals.complained);
      const counted = [...types].filter(([, Count]) => Count > 0);
      return {
        status: 200,
        body: {
          InactiveMails: suppressions.length,
          Bounces: [
            all,
            ...counted.map(([{ Type: type, Name }, Count]) => ({ Type: type, Name, Count })),
          ],
        },
      };
    },
  );
}

const DESCRIPTION = `Days are in UTC. At most ${INTERVALS_MAX} days, which is the default.`;

function overview(deps: CompatDependencies): Operation {
  return operation(
    {
      id: 'postmarkGetOutboundOverview',
      method: 'GET',
      path: '/stats/outbound',
      tag: 'Messages',
      summary: 'Retrieve an overview of outbound statistics',
      description: DESCRIPTION,
      scope: 'read:messages',
      query: StatsQuery,
      responses: { 200: { description: 'The counts and rates.', body: Type.Object({}) } },
    },
    async (request) => {
      const { totals } = await read(deps, request, request.query);
      const sent = sentOf(totals);
      const bounced = bouncedOf(totals);
      return {
        status: 200,
        body: {
          Sent: sent,
          Bounced: bounced,
          BounceRate: percentage(bounced, sent),
          SpamComplaints: totals.complained,
          SpamComplaintsRate: percentage(totals.complained, sent),
          UniqueOpens: totals.opened,
          UniqueLinksClicked: totals.links_clicked,
        },
      };
    },
  );
}

interface Statistic {
  /** The end of the path. */
  name: string;
  /** Capitalized, in the operation id. */
  Noun: string;
  summary: string;
  of(counts: Counts): Record<string, number>;
}

const STATISTICS: readonly Statistic[] = [
  {
    name: 'sends',
    Noun: 'Sends',
    summary: 'Count sent emails by day',
    of: (counts) => ({ Sent: sentOf(counts) }),
  },
  {
    name: 'bounces',
    Noun: 'Bounces',
    summary: 'Count bounces by day and type',
    of: (counts) =>
      Object.fromEntries([...bouncesByType(counts)].map(([{ Type: type }, n]) => [type, n])),
  },
  {
    name: 'spam',
    Noun: 'SpamComplaints',
    summary: 'Count spam complaints by day',
    of: ({ complained }) => ({ SpamComplaint: complained }),
  },
  {
    name: 'opens',
    Noun: 'Opens',
    summary: 'Count opens by day',
    of: ({ opened }) => ({ Unique: opened }),
  },
  {
    name: 'clicks',
    Noun: 'Clicks',
    summary: 'Count clicks by day',
    of: ({ links_clicked }) => ({ Unique: links_clicked }),
  },
];

function byDay(deps: CompatDependencies, { name, Noun, summary, of }: Statistic): Operation {
  return operation(
    {
      id: `postmarkCount${Noun}`,
      method: 'GET',
      path: `/stats/outbound/${name}`,
      tag: 'Messages',
      summary,
      description: DESCRIPTION,
      scope: 'read:messages',
      query: StatsQuery,
      responses: { 200: { description: 'The counts.', body: Type.Object({}) } },
    },
    async (request) => {
      const { totals, points } = await read(deps, request, request.query);
      const Days = points
        .map((point) => ({ Date: point.start.slice(0, 10), counts: withoutZeros(of(point)) }))
        .filter(({ counts }) => Object.keys(counts).length > 0)
        .map(({ Date: date, counts }) => ({ Date: date, ...counts }));
      return { status: 200, body: { Days, ...of(totals) } };
    },
  );
}

/** Days have no zeros at Postmark, and there are no days without counts. */
function withoutZeros(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0));
}

const NO_VISITORS =
  'Nothing is recorded about who opens emails and follows links, such as their email client, platform or browser.';

/** The ends of the paths, some of which the client library spells with capitals. */
const NOT_COUNTED: Record<string, string> = {
  tracked: 'How many emails are sent with tracking is not counted.',
  'opens/platforms': NO_VISITORS,
  'opens/emailclients': NO_VISITORS,
  'opens/emailClients': NO_VISITORS,
  'opens/readtimes': 'How long recipients read an email is not recorded.',
  'opens/readTimes': 'How long recipients read an email is not recorded.',
  'clicks/browserfamilies': NO_VISITORS,
  'clicks/browserFamilies': NO_VISITORS,
  'clicks/platforms': NO_VISITORS,
  'clicks/location': 'Clicks are not counted by location. Only links in HTML are tracked.',
};

function refused([name, reason]: [name: string, reason: string]): Operation {
  return refusedOperation(
    {
      id: `postmarkCount_${name.replace('/', '_')}`,
      method: 'GET',
      path: `/stats/outbound/${name}`,
      tag: 'Messages',
      summary: 'Retrieve statistics that are not kept',
    },
    'not_found',
    reason,
  );
}

function read(
  deps: CompatDependencies,
  request: AnyRequest,
  given: Static<typeof StatsQuery>,
): Promise<Stats> {
  const { after, before } = periodOf(given);
  const nowMs = deps.clock.now();
  const lastMs = Math.min(before === undefined ? nowMs : Date.parse(before), nowMs);
  const toMs = startAfter(lastMs, 'day');
  const fromMs =
    after === undefined ? toMs - INTERVALS_MAX * DAY_MS : startOf(Date.parse(after), 'day');
  const filter = filterOf(given);
  return readStats(deps, request, { interval: 'day', fromMs, toMs, begin: 'fromdate', filter });
}

function filterOf(given: Static<typeof StatsQuery>): StatsFilter | undefined {
  const { tag } = given;
  const stream = streamOf(given);
  if (tag !== undefined && stream !== undefined) {
    const detail =
      'Emails are counted by tag and by stream, but not by both. Leave one of them out.';
    throw invalidFields([{ parameter: 'tag', code: 'unsupported', detail }]);
  }
  if (tag !== undefined) return { group_by: 'tag', value: tag, parameter: 'tag' };
  if (stream === undefined) return undefined;
  return { group_by: 'stream', value: stream, parameter: 'messagestream' };
}

/** Recipients that were not suppressed. */
function sentOf({ accepted, suppressed }: Counts): number {
  return accepted - suppressed;
}

/** As in webhooks, expired messages are soft bounces. */
function bouncedOf({ bounced, expired }: Counts): number {
  return bounced + expired;
}

/** The type follows from the reason. */
function bouncesByType({ bounced_by_reason, expired }: Counts) {
  const { hard, soft, block } = BOUNCE_TYPES;
  const counts = new Map([
    [hard, 0],
    [soft, expired],
    [block, 0],
  ]);
  for (const [reason, n] of Object.entries(bounced_by_reason)) {
    const type = postmarkBounceType(reason as BounceReason);
    counts.set(type, (counts.get(type) ?? 0) + n);
  }
  return counts;
}

/** With three decimals. */
function percentage(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 100_000) / 1_000;
}
