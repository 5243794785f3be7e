import { Type } from 'typebox';
import type { Reads } from '../../../db/connections/read-replica.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { DIMENSIONS } from '../../../stats/count-buckets.ts';
import { queryStats } from '../../../stats/query-stats.ts';
import type { StatsInterval } from '../../../stats/stats-store.ts';
import { closed, oneOf } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { parseTimeParameter } from '../../validation/query-parameters.ts';
import { Stats } from './schemas.ts';

const SPANS = ['minute', 'hour', 'day'] as const;
const SPAN_MS: Record<StatsInterval, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const DEFAULT_POINTS: Record<StatsInterval, number> = { minute: 60, hour: 24, day: 30 };
const SPAN_DEFAULT = 'hour';
export const INTERVALS_MAX = 1_500;
const GROUPS_DEFAULT = 20;

export function getStats(deps: {
  reads: Reads;
  clock: Clock;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getStats',
      method: 'GET',
      path: '/stats',
      tag: 'Messages',
      summary: 'Retrieve statistics',
      description:
        'Counts, rates and times over time for the key’s mode, one or two seconds behind. Kept ' +
        'by minute for two days, by hour for 90 days, and by day forever. A range is extended ' +
        'to whole intervals.',
      scope: 'read:messages',
      query: closed({
        interval: Type.Optional(
          Type.Unsafe<StatsInterval>({
            ...oneOf(SPANS),
            default: 'hour',
            description: 'Default: `hour`.',
          }),
        ),
        from: Type.Optional(
          Type.String({
            format: 'date-time',
            description:
              'Default: one hour, one day or 30 days before `to`, depending on `interval`.',
          }),
        ),
        to: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
        group_by: Type.Optional(oneOf(DIMENSIONS)),
        value: Type.Optional(
          Type.String({ minLength: 1, maxLength: 255, description: 'Only this group.' }),
        ),
        points: Type.Optional(
          Type.Boolean({ default: true, description: '`false` returns only the totals.' }),
        ),
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 100,
            default: GROUPS_DEFAULT,
            description:
              'Maximum number of groups, largest first. A response has at most 50,000 points.',
          }),
        ),
      }),
      queryParsers: [
        (query, invalid) => invalid.has('interval') || rangeOf(query, deps.clock.now()),
        (query, invalid) => invalid.has('group_by') || requireGroupBy(query),
      ],
      responses: { 200: { description: 'The statistics.', body: Stats } },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const span = query.interval ?? SPAN_DEFAULT;
      const { fromMs, toMs } = rangeOf(query, deps.clock.now());
      const withPoints = query.points ?? true;
      // With the points of a hundred groups it is as large as a message.
      if (withPoints && query.group_by) await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const data = await deps.reads.run((pool) =>
        queryStats(pool, caller, {
          span,
          fromMs,
          toMs,
          groupsMax: query.limit ?? GROUPS_DEFAULT,
          withPoints,
          ...(query.group_by === undefined ? {} : { groupBy: query.group_by }),
          ...(query.value === undefined ? {} : { value: query.value }),
        }),
      );
      return {
        status: 200,
        body: {
          interval: span,
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          data,
        },
      };
    },
  );
}

function rangeOf(query: Record<string, unknown>, nowMs: number) {
  const span = (query.interval ?? SPAN_DEFAULT) as StatsInterval;
  const spanMs = SPAN_MS[span];
  const given = {
    ...parseTimeParameter('fromMs', 'from', query),
    ...parseTimeParameter('toMs', 'to', query),
  };
  const toMs = inFourDigits(Math.ceil((given.toMs ?? nowMs) / spanMs) * spanMs);
  const fromMs = inFourDigits(
    given.fromMs === undefined
      ? toMs - DEFAULT_POINTS[span] * spanMs
      : Math.floor(given.fromMs / spanMs) * spanMs,
  );
  if (fromMs >= toMs) throw invalidParameter('from', 'Must be before `to`.');
  if ((toMs - fromMs) / spanMs > INTERVALS_MAX) {
    throw invalidParameter(
      'from',
      `A range has at most ${INTERVALS_MAX} intervals. Use a longer interval.`,
    );
  }
  return { fromMs, toMs };
}

function requireGroupBy({ value, group_by }: Record<string, unknown>): void {
  if (value === undefined || group_by !== undefined) return;
  throw invalidParameter('value', 'Requires group_by.');
}

/** Rounding to whole intervals must stay within the years that RFC 3339 can represent. */
function inFourDigits(ms: number): number {
  return Math.min(Math.max(ms, Date.UTC(1970, 0, 1)), Date.UTC(9999, 11, 31));
}

function invalidParameter(parameter: string, detail: string): RefusedError {
  return new RefusedError('validation_failed', `${parameter}: ${detail}`, {
    errors: [{ parameter, code: 'invalid_value', detail }],
  });
}
