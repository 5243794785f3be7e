import type { Schema } from '../../api/client.ts';
import type { Axis } from '../../components/charts/chart-panel.tsx';

/** The time ranges of the overview and their intervals. */

export type Figures = Schema<'StatsFigures'>;
export type Stats = Schema<'Stats'>;

export interface Range {
  label: string;
  /** For use in a sentence. */
  phrase: string;
  /** The period before, for use in a sentence. */
  before: string;
  interval: 'minute' | 'hour' | 'day';
  steps: number;
  /** How many intervals one bar covers. */
  bucketSize: number;
  /** The matching `since` filter of the message list. */
  since: string;
}

export const RANGES = {
  hour: {
    label: 'Hour',
    phrase: 'the last hour',
    before: 'the hour before',
    interval: 'minute',
    steps: 60,
    bucketSize: 1,
    since: '1h',
  },
  day: {
    label: 'Day',
    phrase: 'the last 24 hours',
    before: 'the 24 hours before',
    interval: 'hour',
    steps: 24,
    bucketSize: 1,
    since: '24h',
  },
  week: {
    label: 'Week',
    phrase: 'the last 7 days',
    before: 'the 7 days before',
    interval: 'hour',
    steps: 168,
    bucketSize: 4,
    since: '7d',
  },
  month: {
    label: 'Month',
    phrase: 'the last 30 days',
    before: 'the 30 days before',
    interval: 'day',
    steps: 30,
    bucketSize: 1,
    since: '30d',
  },
} as const satisfies Record<string, Range>;

export type RangeName = keyof typeof RANGES;

export function parseRange(name: string | undefined): RangeName {
  return name !== undefined && name in RANGES ? (name as RangeName) : 'day';
}

const INTERVAL_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export function startOf(range: Range, nowMs: number): string {
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

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hour12: false });
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
