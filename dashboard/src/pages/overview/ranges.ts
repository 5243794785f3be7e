import type { Schema } from '../../api/client.ts';
import type { Axis } from '../../components/charts/chart-panel.tsx';
import { type TimeRange, timeRangeLabel } from '../../lib/time-range.ts';

/** The time ranges of the overview and their intervals. */

export type Figures = Schema<'StatsFigures'>;
export type Stats = Schema<'Stats'>;

export interface Range {
  id: string;
  /** For use in a sentence. */
  phrase: string;
  /** The period before, for use in a sentence. */
  before: string;
  interval: 'minute' | 'hour' | 'day';
  /** The number of intervals up to now; of a custom range, those from `from`. */
  steps: number;
  /** How many intervals one bar covers. */
  bucketSize: number;
  /** The matching filter of the message list. */
  filter: TimeRange;
  from?: string;
  /** Now, unless it is given. */
  to?: string;
}

export const RANGES = {
  hour: {
    id: 'hour',
    label: 'Hour',
    phrase: 'the last hour',
    before: 'the hour before',
    interval: 'minute',
    steps: 60,
    bucketSize: 1,
    filter: { since: '1h' },
  },
  day: {
    id: 'day',
    label: 'Day',
    phrase: 'the last 24 hours',
    before: 'the 24 hours before',
    interval: 'hour',
    steps: 24,
    bucketSize: 1,
    filter: { since: '24h' },
  },
  week: {
    id: 'week',
    label: 'Week',
    phrase: 'the last 7 days',
    before: 'the 7 days before',
    interval: 'hour',
    steps: 168,
    bucketSize: 4,
    filter: { since: '7d' },
  },
  month: {
    id: 'month',
    label: 'Month',
    phrase: 'the last 30 days',
    before: 'the 30 days before',
    interval: 'day',
    steps: 30,
    bucketSize: 1,
    filter: { since: '30d' },
  },
} as const satisfies Record<string, Range & { label: string }>;

export type RangeName = keyof typeof RANGES;

const INTERVAL_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** The range in the page's search parameters: exact times, or one of the usual ranges. */
export function parseRange(search: TimeRange & { range?: string }, nowMs: number): Range {
  const { range: name, after, before } = search;
  const exact = after ? customRange(after, before || undefined, nowMs) : undefined;
  if (exact) return exact;
  return RANGES[name !== undefined && name in RANGES ? (name as RangeName) : 'day'];
}

/** More bars than this are too thin. */
const MAX_BARS = 60;

/** Long ranges in long intervals, within what the statistics keep of each. */
function customRange(from: string, to: string | undefined, nowMs: number): Range | undefined {
  const fromMs = Date.parse(from);
  const toMs = to === undefined ? nowMs : Date.parse(to);
  if (!(fromMs < toMs)) return undefined;
  const isWithin = (lengthMs: number, ageMs: number) =>
    toMs - fromMs <= lengthMs && nowMs - fromMs <= ageMs;
  const { hour, day } = INTERVAL_MS;
  const interval = isWithin(3 * hour, 2 * day)
    ? 'minute'
    : isWithin(31 * day, 90 * day)
      ? 'hour'
      : 'day';
  const steps = Math.ceil((toMs - fromMs) / INTERVAL_MS[interval]);
  const filter = { after: from, ...(to === undefined ? {} : { before: to }) };
  return {
    id: `${from} ${to ?? ''}`,
    phrase: `the period ${timeRangeLabel(filter, nowMs)}`,
    before: 'the period of the same length before',
    interval,
    steps,
    bucketSize: Math.ceil(steps / MAX_BARS),
    filter,
    from,
    ...(to === undefined ? {} : { to }),
  };
}

export function startOf(range: Range, nowMs: number): string {
  if (range.from !== undefined) return range.from;
  const stepMs = INTERVAL_MS[range.interval];
  const endMs = Math.ceil(nowMs / stepMs) * stepMs;
  return new Date(endMs - range.steps * stepMs).toISOString();
}

/** The period of the same length that ends where the range starts. */
export function periodBefore(range: Range, nowMs: number): { from: string; to: string } {
  const to = startOf(range, nowMs);
  const lengthMs = range.steps * INTERVAL_MS[range.interval];
  return { from: new Date(Date.parse(to) - lengthMs).toISOString(), to };
}

export interface Bucket {
  startMs: number;
  endMs: number;
  /** The data points in this bucket, often none. */
  points: Figures[];
}

/** All buckets of the range, including empty ones, which the API omits. */
export function bucketsOf({ interval, from, to, data }: Stats, folded: number): Bucket[] {
  const stepMs = (INTERVAL_MS[interval as Range['interval']] ?? INTERVAL_MS.hour) * folded;
  const firstMs = Date.parse(from);
  const steps: Bucket[] = [];
  for (let startMs = firstMs; startMs < Date.parse(to); startMs += stepMs) {
    steps.push({ startMs, endMs: startMs + stepMs, points: [] });
  }
  for (const point of data[0]?.points ?? []) {
    steps[Math.floor((Date.parse(point.start) - firstMs) / stepMs)]?.points.push(point);
  }
  return steps;
}

export function sumOf(step: Bucket, read: (figures: Figures) => number): number {
  return step.points.reduce((sum, point) => sum + read(point), 0);
}

/** Axis labels. Days are in UTC, as the server counts them; hours and minutes are local. */
export function axisOf(steps: readonly Bucket[], interval: Range['interval']): Axis {
  if (interval === 'day') {
    return {
      short: steps.map(({ startMs }) => shortDay.format(startMs)),
      long: steps.map(({ startMs }) => `${longDay.format(startMs)}, UTC`),
    };
  }
  const days = new Set(steps.map(({ startMs }) => localDay.format(startMs))).size > 2;
  return {
    short: steps.map(({ startMs }) => (days ? localDay : clock).format(startMs)),
    long: steps.map(
      ({ startMs, endMs }) =>
        `${localDay.format(startMs)}, ${clock.format(startMs)} to ${clock.format(endMs)}`,
    ),
  };
}

const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const weekday = new Intl.DateTimeFormat('en', { weekday: 'short' });
const localDay = {
  format: (ms: number) => `${weekday.format(ms)} ${new Date(ms).getDate()}`,
};
const shortDay = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const longDay = new Intl.DateTimeFormat('en', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  timeZone: 'UTC',
});
