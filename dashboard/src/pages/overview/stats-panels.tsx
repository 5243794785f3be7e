import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Section } from '../../components/page.tsx';
import { LineChart } from '../../components/charts/line-chart.tsx';
import { ChartPanel, type Series } from '../../components/charts/chart-panel.tsx';
import { formatDuration, formatCompact } from '../../components/charts/scale.ts';
import { StackedBarChart } from '../../components/charts/stacked-bar-chart.tsx';
import { formatCount, formatNumber } from '../../lib/format.ts';
import { axisOf, type Figures, type Range, type Stats, bucketsOf, sumOf } from './ranges.ts';

/** What was sent and what became of it. Counts are of recipients. */

/** There was nothing to take a share of. */
export const NO_VALUE = '–';

export const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
export const finePercent = new Intl.NumberFormat('en', {
  style: 'percent',
  maximumFractionDigits: 2,
});

/** Worse than receivers put up with. */
export const MAX_BOUNCE_RATE = 0.05;
export const MAX_COMPLAINT_RATE = 0.003;

export function StatTiles({ totals }: { totals: Figures }) {
  const { rates } = totals;
  const lost = totals.failed + totals.expired;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line lg:grid-cols-4">
      <StatTile name="Accepted" value={formatCompact(totals.accepted)}>
        {formatCount(totals.messages, 'message')}
      </StatTile>
      <StatTile
        name="Delivered"
        value={rates.delivered === null ? NO_VALUE : percent.format(rates.delivered)}
      >
        {formatCount(totals.delivered, 'recipient')}
      </StatTile>
      <StatTile
        name="Bounced"
        value={rates.bounced === null ? NO_VALUE : percent.format(rates.bounced)}
        bad={rates.bounced !== null && rates.bounced >= MAX_BOUNCE_RATE}
      >
        {formatNumber(totals.bounced)} refused
        {lost > 0 && `, ${formatNumber(lost)} not sent`}
      </StatTile>
      <StatTile
        name="Complaints"
        value={rates.complained === null ? NO_VALUE : finePercent.format(rates.complained)}
        bad={rates.complained !== null && rates.complained >= MAX_COMPLAINT_RATE}
      >
        {formatNumber(totals.complained)} called it spam
      </StatTile>
    </dl>
  );
}

function StatTile({
  name,
  value,
  bad,
  children,
}: {
  name: string;
  value: string;
  /** Worse than receivers put up with. */
  bad?: boolean;
  children: ReactNode;
}) {
  return (
    <div className="bg-panel px-4 py-3">
      <dt className="text-xs text-soft">{name}</dt>
      <dd>
        <span
          className={`block text-2xl font-semibold tracking-tight tabular-nums ${bad ? 'text-bad' : ''}`}
        >
          {value}
        </span>
        <span className="block text-xs text-faint">{children}</span>
      </dd>
    </div>
  );
}

export const OUTCOMES: { name: string; color: string; read: (figures: Figures) => number }[] = [
  { name: 'Delivered', color: '--plot-good', read: (one) => one.delivered },
  { name: 'Bounced', color: '--plot-bad', read: (one) => one.bounced },
  {
    name: 'Not sent',
    color: '--plot-plum',
    read: (one) => one.failed + one.expired,
  },
  { name: 'Suppressed', color: '--plot-plain', read: (one) => one.suppressed },
];

export function OutcomesChart({ stats, range }: { stats: Stats; range: Range }) {
  const steps = bucketsOf(stats, range.bucketSize);
  const totals = stats.data[0]?.totals;
  const series: Series[] = OUTCOMES.map(({ name, color, read }) => ({
    name,
    color,
    values: steps.map((step) => sumOf(step, read)),
    total: formatCompact(totals ? read(totals) : 0),
  }));
  const axis = axisOf(steps, range.interval);
  return (
    <ChartPanel
      title="What became of it"
      summary={`In ${range.phrase}: ${series.map(({ name, total }) => `${total} ${name.toLowerCase()}`).join(', ')}.`}
      place="Time"
      series={series}
      axis={axis}
      format={formatNumber}
    >
      <StackedBarChart series={series} axis={axis} />
    </ChartPanel>
  );
}

const PERCENTILES = [
  { name: 'Half within', color: '--plot-info', key: 'p50_ms' },
  { name: '95% within', color: '--plot-warn', key: 'p95_ms' },
  { name: '99% within', color: '--plot-bad', key: 'p99_ms' },
] as const;

export function LatencyChart({ stats, range }: { stats: Stats; range: Range }) {
  const steps = bucketsOf(stats, 1);
  const totals = stats.data[0]?.totals;
  const series: Series[] = PERCENTILES.map(({ name, color, key }) => {
    const total = totals?.latency[key] ?? null;
    return {
      name,
      color,
      values: steps.map(({ points }) => points[0]?.latency[key] ?? null),
      total: total === null ? NO_VALUE : formatDuration(total),
    };
  });
  const axis = axisOf(steps, range.interval);
  return (
    <ChartPanel
      title="Time to delivery"
      description="From acceptance, or the scheduled time, until a receiver took it."
      summary={`In ${range.phrase}: ${series.map(({ name, total }) => `${name.toLowerCase()} ${total}`).join(', ')}.`}
      place="Time"
      series={series}
      axis={axis}
      format={formatDuration}
    >
      <LineChart series={series} axis={axis} format={formatDuration} />
    </ChartPanel>
  );
}

export function BounceReasons({ totals }: { totals: Figures }) {
  const reasons = Object.entries(totals.bounced_by_reason).sort(([, a], [, b]) => b - a);
  const most = reasons[0]?.[1] ?? 0;
  return (
    <Section
      title="Why it bounced"
      className="min-w-0"
      actions={
        <Link
          to="/messages"
          search={{ status: 'bounced' }}
          className="text-xs font-medium text-accent-ink hover:underline"
        >
          See them
        </Link>
      }
    >
      {reasons.length === 0 ? (
        <p className="text-sm text-soft">Nothing bounced.</p>
      ) : (
        <ul className="grid gap-2.5">
          {reasons.slice(0, MAX_REASONS).map(([reason, n]) => (
            <li key={reason} className="text-sm">
              <div className="flex justify-between gap-3">
                <span className="min-w-0 truncate">{REASONS[reason] ?? reason}</span>
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

const REASONS: Record<string, string> = {
  unknown_mailbox: 'The mailbox does not exist',
  mailbox_full: 'The mailbox is full',
  mailbox_disabled: 'The mailbox is switched off',
  unknown_domain: 'The domain takes no mail',
  blocked_reputation: 'Refused for our reputation',
  blocked_policy: 'Refused by a policy',
  authentication_failed: 'Authentication failed',
  content_rejected: 'The content was refused',
  message_too_large: 'Too large',
  rate_limited: 'Too much at a time',
  greylisted: 'Asked to come again',
  relaying_denied: 'The receiver is not responsible',
  network_unreachable: 'The receiver cannot be reached',
  connection_lost: 'The connection broke',
  timed_out: 'The receiver did not answer',
  tls_required: 'No encryption, though it is required',
  tls_failed: 'Encryption failed',
  smtputf8_unsupported: 'The receiver cannot read the address',
  protocol_error: 'The receiver broke the protocol',
  unknown: 'For another reason',
};
