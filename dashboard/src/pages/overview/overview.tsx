import { useNavigate, useSearch } from '@tanstack/react-router';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { Page } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { useCan, useWorkspace } from '../../session/session.ts';
import { Breakdown, type Dimension, parseDimension } from './breakdown.tsx';
import { Checklist, useSteps } from './checklist.tsx';
import { BounceReasons, LatencyChart, OutcomesChart, StatTiles } from './stats-panels.tsx';
import { Issues, useIssues } from './issues.tsx';
import { QueueStatus } from './queue-status.tsx';
import { RANGES, type Range, type RangeName, parseRange } from './ranges.ts';
import { useStats, useRefetchStats } from './use-stats.ts';

export function OverviewPage() {
  const search = useSearch({ from: '/inside/' });
  const navigate = useNavigate();
  const { name } = useWorkspace();
  const mayRead = useCan()('read:messages');
  const range = parseRange(search.range);
  return (
    <Page
      title="Overview"
      description={`What ${name} sent, and what became of it.`}
      actions={
        mayRead && (
          <RangeSwitch
            value={range}
            onChange={(range) =>
              void navigate({ to: '/', search: { ...search, range }, replace: true })
            }
          />
        )
      }
    >
      <Body
        range={range}
        mayRead={mayRead}
        by={parseDimension(search.by)}
        onBy={(by) => void navigate({ to: '/', search: { ...search, by }, replace: true })}
      />
    </Page>
  );
}

/** All of it at once: what comes in one after the other would push the rest down. */
function Body({
  range,
  mayRead,
  by,
  onBy,
}: {
  range: RangeName;
  mayRead: boolean;
  by: Dimension;
  onBy: (next: Dimension) => void;
}) {
  const problems = useIssues();
  const steps = useSteps();
  const stats = useStats(range, {}, mayRead);
  useRefetchStats();
  if (!problems || !steps || (mayRead && stats.isPending)) return <SkeletonCharts />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Issues rows={problems} />
      {steps.length > 0 && <Checklist steps={steps} />}
      {mayRead && <Charts range={RANGES[range]} stats={stats} />}
      {mayRead && <Breakdown range={range} by={by} onBy={onBy} />}
    </div>
  );
}

function RangeSwitch({
  value,
  onChange,
}: {
  value: RangeName;
  onChange: (next: RangeName) => void;
}) {
  const choices = Object.entries(RANGES).map(([id, { label, words }]) => ({
    id: id as RangeName,
    label,
    title: words,
  }));
  return <SegmentedControl label="How far back" choices={choices} value={value} onChange={onChange} />;
}

function Charts({ range, stats }: { range: Range; stats: ReturnType<typeof useStats> }) {
  if (stats.isError && !stats.data) {
    return <ErrorAlert error={stats.error} onRetry={() => void stats.refetch()} />;
  }
  const totals = stats.data?.data[0]?.totals;
  if (!stats.data || !totals) return null;
  const shown = shownRange(stats.data.interval, range);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5" aria-busy={stats.isPlaceholderData}>
      <StatTiles totals={totals} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <OutcomesChart stats={stats.data} range={shown} />
          <LatencyChart stats={stats.data} range={shown} />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <QueueStatus />
          <BounceReasons totals={totals} />
        </div>
      </div>
    </div>
  );
}

/** While another range is on its way, what is still shown keeps its own steps. */
function shownRange(interval: string, wanted: Range): Range {
  if (interval === wanted.interval) return wanted;
  return Object.values(RANGES).find((range) => range.interval === interval) ?? wanted;
}

function SkeletonCharts() {
  return (
    <div role="status" aria-label="Loading" className="grid gap-5">
      <Skeleton className="h-24 rounded-xl" />
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <Skeleton className="h-72 rounded-xl" />
        <Skeleton className="h-72 rounded-xl" />
      </div>
    </div>
  );
}
