import type { BounceReason } from '../events/event-types.ts';
import { INTERVALS_MAX } from '../http/routes/stats/get.ts';
import { COUNTERS, HOURS_KEPT_DAYS, OTHER_VALUES } from '../http/routes/stats/schemas.ts';
import type { AnyRequest } from '../http/server/call-operation.ts';
import { invalidFields } from '../lib/refused-error.ts';
import type { CompatDependencies } from './compat-provider.ts';

/**
 * Our own statistics for operations of other providers. A period and a filter in their terms come in,
 * counts go out. What our statistics cannot tell is refused: an answer of zero means that nothing happened.
 */

export interface Counts extends Record<(typeof COUNTERS)[number], number> {
  bounced_by_reason: Partial<Record<BounceReason, number>>;
  suppressed_by_reason: Record<string, number>;
}

export interface StatsRequest {
  interval: 'hour' | 'day';
  fromMs: number;
  /** Exclusive. */
  toMs: number;
  /** The provider's parameter for the beginning of the period, which errors name. */
  begin: string;
  filter?: StatsFilter | undefined;
}

export interface StatsFilter {
  group_by: 'stream' | 'tag' | 'domain';
  value: string;
  /** The provider's parameter. */
  parameter: string;
}

export interface Stats {
  totals: Counts;
  /** In chronological order, without intervals in which nothing happened. */
  points: readonly Point[];
}

type Point = Counts & { start: string };

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export async function readStats(
  { call, clock }: Pick<CompatDependencies, 'call' | 'clock'>,
  request: AnyRequest,
  wanted: StatsRequest,
): Promise<Stats> {
  const { interval, fromMs, toMs, filter } = wanted;
  checkPeriod(wanted, clock.now());
  const period = {
    interval,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
  };
  if (!filter) {
    const { body } = await call(request, 'getStats', { query: period });
    return body.data[0];
  }
  const { group_by, value, parameter } = filter;
  const read = async (value: string): Promise<Stats> => {
    const { body } = await call(request, 'getStats', { query: { ...period, group_by, value } });
    return body.data[0];
  };
  const stats = await read(value);
  if (stats.points.length > 0 || (await read(OTHER_VALUES)).points.length === 0) return stats;
  const detail = `"${value}" may be counted together with others, because the workspace uses too many.`;
  throw invalidFields([{ parameter, code: 'unsupported', detail }]);
}

function checkPeriod({ interval, fromMs, toMs, begin }: StatsRequest, nowMs: number): void {
  const refuse = (code: string, detail: string) =>
    invalidFields([{ parameter: begin, code, detail }]);
  if (fromMs >= toMs) {
    throw refuse('invalid_value', 'Must be before the end of the period, and not in the future.');
  }
  const isHourly = interval === 'hour';
  if (toMs - fromMs > INTERVALS_MAX * (isHourly ? HOUR_MS : DAY_MS)) {
    throw refuse('too_many', `A period has at most ${INTERVALS_MAX} ${interval}s.`);
  }
  if (isHourly && fromMs < nowMs - HOURS_KEPT_DAYS * DAY_MS) {
    const detail = `Hours are kept for ${HOURS_KEPT_DAYS} days. Begin later, or use days.`;
    throw refuse('unsupported', detail);
  }
}

export type Resolution = 'hour' | 'day' | 'week' | 'month';

export interface Interval {
  startMs: number;
  counts: Counts;
}

/** All intervals of a period, also those in which nothing happened. */
export function intervalsOf(
  { points }: Stats,
  { fromMs, toMs }: Pick<StatsRequest, 'fromMs' | 'toMs'>,
  resolution: Resolution,
): Interval[] {
  const found = Map.groupBy(points, ({ start }) => startOf(Date.parse(start), resolution));
  const intervals: Interval[] = [];
  for (let at = startOf(fromMs, resolution); at < toMs; at = startAfter(at, resolution)) {
    intervals.push({ startMs: at, counts: addUp(found.get(at) ?? []) });
  }
  return intervals;
}

const LENGTHS_MS: Record<Resolution, number> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  // The longest: a month after the first day of a month is in the next one.
  month: 31 * DAY_MS,
};

/** The start of the interval after the one that contains this time. */
export function startAfter(ms: number, resolution: Resolution): number {
  return startOf(startOf(ms, resolution) + LENGTHS_MS[resolution], resolution);
}

/** In UTC. Weeks begin on Monday. */
export function startOf(ms: number, resolution: Resolution): number {
  const date = new Date(ms);
  switch (resolution) {
    case 'hour':
    case 'day':
      return ms - (ms % LENGTHS_MS[resolution]);
    case 'week':
      return ms - (ms % DAY_MS) - ((date.getUTCDay() + 6) % 7) * DAY_MS;
    case 'month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  }
}

function addUp(all: readonly Counts[]): Counts {
  const sumOf = (counter: (typeof COUNTERS)[number]): number =>
    all.reduce((sum, counts) => sum + counts[counter], 0);
  const sums = Object.fromEntries(COUNTERS.map((counter) => [counter, sumOf(counter)]));
  return {
    ...(sums as Record<(typeof COUNTERS)[number], number>),
    bounced_by_reason: addUpReasons(all.map((counts) => counts.bounced_by_reason)),
    suppressed_by_reason: addUpReasons(all.map((counts) => counts.suppressed_by_reason)),
  };
}

function addUpReasons(all: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [reason, n] of all.flatMap(Object.entries)) sums[reason] = (sums[reason] ?? 0) + n;
  return sums;
}
