import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { onLiveEvents } from '../../frame/live-feed.ts';
import { classNames } from '../../parts/class-names.ts';
import { Page } from '../../parts/page.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { useMay, useWorkspace } from '../../session/session.ts';
import { Checklist, useSteps } from './checklist.tsx';
import { BounceReasons, LatencyPlot, OutcomesPlot, Tiles } from './figures.tsx';
import { Problems, useProblems } from './problems.tsx';
import { QueueNow } from './queue-now.tsx';
import { RANGES, type Range, type RangeName, rangeNamed, startOf } from './ranges.ts';

export function OverviewPage() {
  const search = useSearch({ from: '/inside/' });
  const navigate = useNavigate();
  const { name } = useWorkspace();
  const mayRead = useMay()('read:messages');
  const range = rangeNamed(search.range);
  return (
    <Page
      title="Overview"
      description={`What ${name} sent, and what became of it.`}
      actions={
        mayRead && (
          <RangeSwitch
            value={range}
            onChange={(next) => void navigate({ to: '/', search: { range: next }, replace: true })}
          />
        )
      }
    >
      <Body range={range} mayRead={mayRead} />
    </Page>
  );
}

/** All of it at once: what comes in one after the other would push the rest down. */
function Body({ range, mayRead }: { range: RangeName; mayRead: boolean }) {
  const problems = useProblems();
  const steps = useSteps();
  const stats = useStats(range, mayRead);
  if (!problems || !steps || (mayRead && stats.isPending)) return <SkeletonCharts />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Problems rows={problems} />
      {steps.length > 0 && <Checklist steps={steps} />}
      {mayRead && <Charts range={RANGES[range]} stats={stats} />}
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
  return (
    <fieldset className="flex gap-0.5 rounded-lg border border-line-strong p-0.5 shadow-panel">
      <legend className="sr-only">How far back</legend>
      {Object.entries(RANGES).map(([name, { label, words }]) => (
        <button
          key={name}
          type="button"
          title={words}
          aria-pressed={name === value}
          onClick={() => onChange(name as RangeName)}
          className={classNames(
            'h-6.5 rounded-md px-2.5 text-xs font-medium transition-colors',
            name === value
              ? 'bg-accent-wash text-accent-ink'
              : 'text-soft hover:bg-sunken hover:text-ink',
          )}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

function Charts({ range, stats }: { range: Range; stats: ReturnType<typeof useStats> }) {
  if (stats.isError && !stats.data) {
    return <ProblemNote error={stats.error} onRetry={() => void stats.refetch()} />;
  }
  const totals = stats.data?.data[0]?.totals;
  if (!stats.data || !totals) return null;
  const shown = shownRange(stats.data.interval, range);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5" aria-busy={stats.isPlaceholderData}>
      <Tiles totals={totals} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <OutcomesPlot stats={stats.data} range={shown} />
          <LatencyPlot stats={stats.data} range={shown} />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <QueueNow />
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

const COUNTED_MS = 2_500;
const LOOK_MS = 60_000;

/** Followed by the stream; counting is a second or two behind what happens. */
function useStats(name: RangeName, enabled: boolean) {
  const { api, key, place } = useHere();
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unlisten = onLiveEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ['stats'] });
      }, COUNTED_MS);
    });
    return () => {
      clearTimeout(timer);
      unlisten();
    };
  }, [queries]);
  return useQuery({
    queryKey: key('stats', name),
    queryFn: () => {
      const range = RANGES[name];
      const query = { interval: range.interval, from: startOf(range, Date.now()) };
      return ask(api.GET('/api/v1/stats', { params: { query: query as never } }));
    },
    enabled,
    refetchInterval: LOOK_MS,
    // The plots of another range may stay a moment; those of another place never.
    placeholderData: (before, query) =>
      query?.queryKey[1] === place.workspaceId && query?.queryKey[2] === place.mode
        ? keepPreviousData(before)
        : undefined,
  });
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
