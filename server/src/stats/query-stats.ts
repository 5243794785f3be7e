import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Dimension } from './count-buckets.ts';
import {
  BOUNCE_REASON_PREFIX,
  COUNTERS,
  type Counter,
  LATENCY_PREFIX,
  SUPPRESSION_REASON_PREFIX,
} from './count-events.ts';
import { percentileMs } from './latency-histogram.ts';
import { type PointRow, readPoints, readTotals, type StatsInterval } from './stats-store.ts';

/** The public statistics: counts, rates and latencies, over time and by group. */

export interface StatsRequest {
  span: StatsInterval;
  fromMs: number;
  toMs: number;
  groupBy?: Exclude<Dimension, 'all'>;
  value?: string;
  groupsMax: number;
  /** Without points only the totals are returned. */
  withPoints: boolean;
}

export interface Figures extends Record<Counter, number> {
  bounced_by_reason: Record<string, number>;
  suppressed_by_reason: Record<string, number>;
  rates: Record<'delivered' | 'bounced' | 'complained' | 'opened' | 'clicked', number | null>;
  latency: { p50_ms: number | null; p95_ms: number | null; p99_ms: number | null };
}

export interface Series {
  group: string | null;
  totals: Figures;
  points: (Figures & { start: string })[];
}

/** For all groups together: a response is held in memory until its client has read it. */
const POINTS_MAX = 50_000;

/** Largest groups first. Intervals without events are left out. */
export async function queryStats(
  pool: Pool,
  scope: { workspaceId: string; mode: Mode },
  request: StatsRequest,
): Promise<Series[]> {
  const { span, fromMs, toMs, groupBy, value, groupsMax, withPoints } = request;
  const query = { span, fromMs, toMs, dimension: groupBy ?? 'all' } as const;
  const wanted = { value, valuesMax: groupBy ? groupsMax : 1 };
  const totals = Map.groupBy(await readTotals(pool, scope, query, wanted), (row) => row.value);
  if (totals.size === 0 && (!groupBy || value !== undefined)) {
    const group = groupBy ? (value ?? null) : null;
    return [{ group, totals: computeFigures([]), points: [] }];
  }
  const found = withPoints
    ? await readPoints(pool, scope, query, [...totals.keys()], POINTS_MAX + 1)
    : [];
  if (found.length > POINTS_MAX) throw tooManyPoints();
  const points = Map.groupBy(found, (row) => row.value);
  return [...totals]
    .map(([group, rows]) => {
      const own = points.get(group) ?? [];
      // From the points themselves, because more may have been counted since the totals were read.
      const counts = withPoints
        ? own.flatMap((point) => Object.entries(point.counts))
        : rows.map(({ counter, n }) => [counter, n] as const);
      return {
        group: groupBy ? group : null,
        totals: computeFigures(counts),
        points: own.map(toPoint),
      };
    })
    .sort((a, b) => volume(b.totals) - volume(a.totals));
}

function tooManyPoints(): RefusedError {
  const detail = `The response would have more than ${POINTS_MAX} points: use fewer groups, a longer interval, or points=false.`;
  return new RefusedError('validation_failed', `limit: ${detail}`, {
    errors: [{ parameter: 'limit', code: 'too_many', detail }],
  });
}

function toPoint({ atMs, counts }: PointRow): Series['points'][number] {
  return { start: new Date(atMs).toISOString(), ...computeFigures(Object.entries(counts)) };
}

function volume({ accepted, delivered, bounced }: Figures): number {
  return Math.max(accepted, delivered + bounced);
}

export function computeFigures(
  counts: readonly (readonly [counter: string, n: number])[],
): Figures {
  const sums = new Map<string, number>();
  for (const [counter, n] of counts) sums.set(counter, (sums.get(counter) ?? 0) + n);
  const of = (counter: string): number => sums.get(counter) ?? 0;
  const plain = Object.fromEntries(COUNTERS.map((counter) => [counter, of(counter)]));
  const below = (prefix: string): [rest: string, n: number][] =>
    [...sums]
      .filter(([counter]) => counter.startsWith(prefix))
      .map(([counter, n]) => [counter.slice(prefix.length), n]);
  const latencies = new Map(below(LATENCY_PREFIX).map(([bucket, n]) => [Number(bucket), n]));
  // A late bounce was counted as delivered first, possibly before the requested range.
  const arrived = Math.max(0, of('delivered') - of('bounced_later'));
  // Only final results count: pending messages are neither good nor bad.
  const ended = arrived + of('bounced') + of('failed') + of('expired');
  return {
    ...(plain as Record<Counter, number>),
    bounced_by_reason: Object.fromEntries(below(BOUNCE_REASON_PREFIX)),
    suppressed_by_reason: Object.fromEntries(below(SUPPRESSION_REASON_PREFIX)),
    rates: {
      delivered: rate(arrived, ended),
      bounced: rate(of('bounced'), ended),
      complained: rate(of('complained'), of('delivered')),
      opened: rate(of('opened'), of('delivered')),
      clicked: rate(of('clicked'), of('delivered')),
    },
    latency: {
      p50_ms: percentileMs(latencies, 0.5),
      p95_ms: percentileMs(latencies, 0.95),
      p99_ms: percentileMs(latencies, 0.99),
    },
  };
}

/** From 0 to 1, with four decimals; null when there is nothing to compare with. */
function rate(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}
