import { useNavigate, useSearch } from '@tanstack/react-router';
import { ErrorAlert } from '../../components/alert.tsx';
import { Page } from '../../components/page.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import { ANY_TIME } from '../../lib/time-range.ts';
import { useCan } from '../../session/session.ts';
import { StreamSelect } from '../streams/stream-select.tsx';
import { useStreams } from '../streams/use-streams.ts';
import { Breakdown, type Dimension, parseDimension } from './breakdown.tsx';
import { Checklist, useSteps } from './checklist.tsx';
import { Issues, useIssues } from './issues.tsx';
import { QueueStatus } from './queue-status.tsx';
import { type Figures, parseRange, RANGES, type Range, type RangeName } from './ranges.ts';
import { BounceReasons, LatencyChart, OutcomesChart, StatTiles } from './stats-panels.tsx';
import { ofStream, usePreviousTotals, useRefetchStats, useStats } from './use-stats.ts';

export function OverviewPage() {
  const search = useSearch({ from: '/inside/' });
  const navigate = useNavigate();
  const canRead = useCan()('read:messages');
  const range = parseRange(search, Date.now());
  const show = (next: typeof search) =>
    void navigate({ to: '/', search: { ...search, ...next }, replace: true });
  return (
    <Page
      title="Overview"
      actions={
        canRead && (
          <>
            <StreamFilter value={search.stream ?? ''} onChange={(stream) => show({ stream })} />
            <RangeSwitch value={range} onChange={(range) => show({ ...ANY_TIME, range })} />
            <TimeRangePicker
              exactOnly
              range={search}
              onChange={({ after, before }) => show({ range: '', after, before })}
            />
          </>
        )
      }
    >
      <Body
        range={range}
        stream={search.stream ?? ''}
        canRead={canRead}
        by={parseDimension(search.by)}
        onBy={(by) => show({ by })}
      />
    </Page>
  );
}

/** Renders everything at once, because parts that load later would shift the layout. */
function Body({
  range,
  stream,
  canRead,
  by,
  onBy,
}: {
  range: Range;
  /** Empty for all. */
  stream: string;
  canRead: boolean;
  by: Dimension;
  onBy: (next: Dimension) => void;
}) {
  const issues = useIssues();
  const steps = useSteps();
  const stats = useStats(range, ofStream(stream), canRead);
  const previous = usePreviousTotals(range, stream, canRead);
  useRefetchStats();
  const isPending = stats.isPending || previous.isPending;
  if (!issues || !steps || (canRead && isPending)) return <SkeletonCharts />;
  return (
    <div className="grid gap-5">
      <Issues rows={issues} />
      {steps.length > 0 && <Checklist steps={steps} />}
      {canRead && (
        <Charts
          range={range}
          stream={stream}
          stats={stats}
          previous={previous.isPlaceholderData ? undefined : (previous.data ?? undefined)}
        />
      )}
      {/* Counts are kept by one dimension at a time, so those of a stream have no breakdown. */}
      {canRead && stream === '' && <Breakdown range={range} by={by} onBy={onBy} />}
    </div>
  );
}

/** Only shown if the workspace has several streams. */
function StreamFilter({ value, onChange }: { value: string; onChange: (next: string) => void }) {
  const streams = useStreams().data ?? [];
  if (streams.length < 2 && value === '') return null;
  return (
    <div className="w-40">
      <StreamSelect label="Stream" none="All streams" value={value} onChange={onChange} />
    </div>
  );
}

function RangeSwitch({ value, onChange }: { value: Range; onChange: (next: RangeName) => void }) {
  const choices = Object.entries(RANGES).map(([id, { label, phrase }]) => ({
    id: id as RangeName,
    label,
    title: phrase,
  }));
  return (
    <SegmentedControl
      label="Time range"
      choices={choices}
      value={value.id as RangeName}
      onChange={onChange}
    />
  );
}

function Charts({
  range,
  stream,
  stats,
  previous,
}: {
  range: Range;
  stream: string;
  stats: ReturnType<typeof useStats>;
  previous: Figures | undefined;
}) {
  if (stats.isError && !stats.data) {
    return <ErrorAlert error={stats.error} onRetry={() => void stats.refetch()} />;
  }
  const totals = stats.data?.data[0]?.totals;
  if (!stats.data || !totals) return null;
  const shown = shownRange(stats.data.interval, range);
  return (
    <div className="grid gap-5" aria-busy={stats.isPlaceholderData}>
      <StatTiles
        totals={totals}
        // While another range is loading, the figures still shown belong to the previous one.
        previous={stats.isPlaceholderData ? undefined : previous}
        before={shown.before}
      />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <div className="grid gap-5">
          <OutcomesChart stats={stats.data} range={shown} />
          <LatencyChart stats={stats.data} range={shown} />
        </div>
        <div className="grid gap-5">
          {stream === '' && <QueueStatus />}
          <BounceReasons
            totals={totals}
            filter={{ ...shown.filter, ...(stream === '' ? {} : { stream }) }}
          />
        </div>
      </div>
    </div>
  );
}

/** While another range is loading, the data still shown keeps its own interval. */
function shownRange(interval: string, selected: Range): Range {
  if (interval === selected.interval) return selected;
  return Object.values(RANGES).find((range) => range.interval === interval) ?? selected;
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
