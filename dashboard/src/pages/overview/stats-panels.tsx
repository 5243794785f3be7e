import { Link } from '@tanstack/react-router';
import { ArrowDown, ArrowUp, Minus } from 'lucide-react';
import type { ReactNode } from 'react';
import { ChartPanel, type Series } from '../../components/charts/chart-panel.tsx';
import { LineChart } from '../../components/charts/line-chart.tsx';
import { StackedBarChart } from '../../components/charts/stacked-bar-chart.tsx';
import { Section } from '../../components/page.tsx';
import { formatCompact, formatCount, formatDuration, formatNumber } from '../../lib/format.ts';
import type { TimeRange } from '../../lib/time-range.ts';
import { BOUNCE_REASONS } from '../messages/bounce-reasons.ts';
import { type Change, changeOfCount, changeOfRate } from './period-comparison.ts';
import { axisOf, bucketsOf, type Figures, type Range, type Stats, sumOf } from './ranges.ts';

/** Sending statistics. All counts are recipients, unless they say messages. */

/** Shown when there is nothing to compute a rate from. */
export const NO_VALUE = '–';

export const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
export const finePercent = new Intl.NumberFormat('en', {
  style: 'percent',
  maximumFractionDigits: 2,
});

/** Rates above which mailbox providers start to block senders. */
export const MAX_BOUNCE_RATE = 0.05;
export const MAX_COMPLAINT_RATE = 0.003;

export function StatTiles({
  totals,
  previous,
  before,
}: {
  totals: Figures;
  /** Of the period before; undefined while it is unknown. */
  previous: Figures | undefined;
  /** That period, for use in a sentence. */
  before: string;
}) {
  const { rates } = totals;
  const undelivered = totals.failed + totals.expired;
  // Without any mail in the period before, there is nothing to compare with.
  const compared = previous && previous.accepted > 0 ? previous : undefined;
  const trend = (change: Change | undefined) => change && <Trend change={change} before={before} />;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line lg:grid-cols-4">
      <StatTile
        name="Accepted"
        value={formatCompact(totals.accepted)}
        trend={trend(compared && changeOfCount(totals.accepted, compared.accepted))}
      >
        {formatCount(totals.messages, 'message')}
      </StatTile>
      <StatTile
        name="Delivered"
        value={rates.delivered === null ? NO_VALUE : percent.format(rates.delivered)}
        trend={trend(changeOfRate(rates.delivered, compared?.rates.delivered, 'good'))}
      >
        {formatCount(totals.delivered, 'recipient')}
      </StatTile>
      <StatTile
        name="Bounced"
        value={rates.bounced === null ? NO_VALUE : percent.format(rates.bounced)}
        bad={rates.bounced !== null && rates.bounced >= MAX_BOUNCE_RATE}
        trend={trend(changeOfRate(rates.bounced, compared?.rates.bounced, 'bad'))}
      >
        {formatNumber(totals.bounced)} bounced
        {undelivered > 0 && `, ${formatNumber(undelivered)} failed`}
      </StatTile>
      <StatTile
        name="Complaints"
        value={rates.complained === null ? NO_VALUE : finePercent.format(rates.complained)}
        bad={rates.complained !== null && rates.complained >= MAX_COMPLAINT_RATE}
        trend={trend(changeOfRate(rates.complained, compared?.rates.complained, 'bad'))}
      >
        {formatCount(totals.complained, 'spam complaint')}
      </StatTile>
    </dl>
  );
}

function StatTile({
  name,
  value,
  bad,
  trend,
  children,
}: {
  name: string;
  value: string;
  bad?: boolean;
  trend: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className="bg-panel px-4 py-3">
      <dt className="text-xs text-soft">{name}</dt>
      <dd>
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span
            className={`text-2xl font-semibold tracking-tight tabular-nums ${bad ? 'text-bad' : ''}`}
          >
            {value}
          </span>
          {trend}
        </span>
        <span className="block text-xs text-faint">{children}</span>
      </dd>
    </div>
  );
}

const TREND_COLORS = { good: 'text-good', bad: 'text-bad', plain: 'text-soft' };

function Trend({ change: { text, direction, tone }, before }: { change: Change; before: string }) {
  const Icon = direction === 'up' ? ArrowUp : direction === 'down' ? ArrowDown : Minus;
  return (
    <span
      title={`Compared with ${before}`}
      className={`inline-flex items-center gap-0.5 text-xs font-medium tabular-nums ${TREND_COLORS[tone]}`}
    >
      <Icon className="size-3" aria-hidden />
      <span className="sr-only">{direction === 'same' ? '' : direction}</span> {text}
      <span className="sr-only">compared with {before}</span>
    </span>
  );
}

export const OUTCOMES: { name: string; color: string; read: (figures: Figures) => number }[] = [
  { name: 'Delivered', color: '--plot-good', read: (one) => one.delivered },
  { name: 'Bounced', color: '--plot-bad', read: (one) => one.bounced },
  {
    name: 'Failed or expired',
    color: '--plot-plum',
    read: (one) => one.failed + one.expired,
  },
  { name: 'Suppressed', color: '--plot-plain', read: (one) => one.suppressed },
];

export function OutcomesChart({ stats, range }: { stats: Stats; range: Range }) {
  const buckets = bucketsOf(stats, range.bucketSize);
  const totals = stats.data[0]?.totals;
  const series: Series[] = OUTCOMES.map(({ name, color, read }) => ({
    name,
    color,
    values: buckets.map((bucket) => sumOf(bucket, read)),
    total: formatCompact(totals ? read(totals) : 0),
  }));
  const axis = axisOf(buckets, range.interval);
  return (
    <ChartPanel
      title="Delivery outcomes"
      summary={`In ${range.phrase}: ${series.map(({ name, total }) => `${total} ${name.toLowerCase()}`).join(', ')}.`}
      rowLabel="Time"
      series={series}
      axis={axis}
      format={formatNumber}
    >
      <StackedBarChart series={series} axis={axis} />
    </ChartPanel>
  );
}

const PERCENTILES = [
  { name: 'Median (p50)', color: '--plot-info', key: 'p50_ms' },
  { name: 'p95', color: '--plot-warn', key: 'p95_ms' },
  { name: 'p99', color: '--plot-bad', key: 'p99_ms' },
] as const;

export function LatencyChart({ stats, range }: { stats: Stats; range: Range }) {
  const buckets = bucketsOf(stats, 1);
  const totals = stats.data[0]?.totals;
  const series: Series[] = PERCENTILES.map(({ name, color, key }) => {
    const total = totals?.latency[key] ?? null;
    return {
      name,
      color,
      values: buckets.map(({ points }) => points[0]?.latency[key] ?? null),
      total: total === null ? NO_VALUE : formatDuration(total),
    };
  });
  const axis = axisOf(buckets, range.interval);
  return (
    <ChartPanel
      title="Time to delivery"
      description="From accepted (or scheduled) to delivered."
      summary={`In ${range.phrase}: ${series.map(({ name, total }) => `${name} ${total}`).join(', ')}.`}
      rowLabel="Time"
      series={series}
      axis={axis}
      format={formatDuration}
    >
      <LineChart series={series} axis={axis} format={formatDuration} />
    </ChartPanel>
  );
}

export function BounceReasons({
  totals,
  filter,
}: {
  totals: Figures;
  filter: TimeRange & { stream?: string };
}) {
  const reasons = Object.entries(totals.bounced_by_reason).sort(([, a], [, b]) => b - a);
  const most = reasons[0]?.[1] ?? 0;
  return (
    <Section
      title="Bounce reasons"
      className="min-w-0"
      actions={
        <Link
          to="/messages"
          search={{ status: 'bounced', ...filter }}
          className="text-xs font-medium text-accent-ink hover:underline"
        >
          View messages
        </Link>
      }
    >
      {reasons.length === 0 ? (
        <p className="text-sm text-soft">No bounces in this period.</p>
      ) : (
        <ul className="grid gap-2.5">
          {reasons.slice(0, MAX_REASONS).map(([reason, n]) => (
            <li key={reason} className="text-sm">
              <div className="flex justify-between gap-3">
                <Link
                  to="/messages"
                  search={{ status: 'bounced', reason, ...filter }}
                  className="min-w-0 truncate hover:underline"
                >
                  {BOUNCE_REASONS[reason] ?? reason}
                </Link>
                <span className="font-medium tabular-nums">{formatNumber(n)}</span>
              </div>
              <svg className="mt-1 h-1.5 w-full" aria-hidden>
                <rect width="100%" height="6" rx="3" fill="var(--line)" />
                <rect width={`${(n / most) * 100}%`} height="6" rx="3" fill="var(--plot-bad)" />
              </svg>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

const MAX_REASONS = 6;
