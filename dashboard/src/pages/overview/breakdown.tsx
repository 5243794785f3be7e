import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount, formatDuration, formatNumber } from '../../lib/format.ts';
import { groupLabel, isOtherGroup } from './group-labels.ts';
import type { Figures, Range } from './ranges.ts';
import {
  finePercent,
  MAX_BOUNCE_RATE,
  MAX_COMPLAINT_RATE,
  NO_VALUE,
  OUTCOMES,
  percent,
} from './stats-panels.tsx';
import { useStats } from './use-stats.ts';

/** Statistics by tag, template, stream, sender domain or mailbox provider. */

export const DIMENSIONS = [
  { id: 'tag', label: 'Tag', title: 'By message tag' },
  { id: 'template', label: 'Template', title: 'By template' },
  { id: 'stream', label: 'Stream', title: 'By stream' },
  { id: 'domain', label: 'Sender', title: 'By sender domain' },
  { id: 'receiver', label: 'Provider', title: 'By mailbox provider' },
] as const;

export type Dimension = (typeof DIMENSIONS)[number]['id'];

export function parseDimension(name: string | undefined): Dimension {
  return DIMENSIONS.find(({ id }) => id === name)?.id ?? 'tag';
}

const SHOWN = 6;
const MAX_GROUPS = 100;

export function Breakdown({
  range,
  by,
  onBy,
}: {
  range: Range;
  by: Dimension;
  onBy: (next: Dimension) => void;
}) {
  const [all, setAll] = useState(false);
  const total = useStats(range, {}, true).data?.data[0]?.totals;
  const stats = useStats(range, { group_by: by, points: false, limit: MAX_GROUPS }, true);
  const groups = stats.data?.data ?? [];
  return (
    <Section
      title="Breakdown"
      description={DESCRIPTIONS[by]}
      className="min-w-0"
      actions={
        <SegmentedControl label="Group by" choices={DIMENSIONS} value={by} onChange={onBy} />
      }
    >
      {stats.isPending ? (
        <SkeletonRows rows={SHOWN} />
      ) : stats.isError && !stats.data ? (
        <ErrorAlert error={stats.error} onRetry={() => void stats.refetch()} />
      ) : groups.length === 0 ? (
        <p className="text-sm text-soft">{EMPTY[by]}</p>
      ) : (
        <>
          <Groups
            groups={(all ? groups : groups.slice(0, SHOWN)).map(({ group, totals }) => ({
              group: group ?? '',
              totals,
            }))}
            total={total?.accepted ?? 0}
            by={by}
            range={range}
          />
          {groups.length > SHOWN && (
            <Button kind="quiet" className="mt-2 -ml-2" onClick={() => setAll(!all)}>
              {all ? 'Show fewer' : `Show all ${groups.length}`}
            </Button>
          )}
        </>
      )}
    </Section>
  );
}

const DESCRIPTIONS: Record<Dimension, string> = {
  tag: 'By message tag. A message with several tags counts under each.',
  template: 'By template.',
  stream: 'By stream.',
  domain: 'By sender domain.',
  receiver: 'By mailbox provider.',
};

const EMPTY: Record<Dimension, ReactNode> = {
  tag: (
    <>
      No tagged messages in this period. Add <code className="font-mono text-xs">tags</code>, such
      as <code className="font-mono text-xs">["receipts"]</code>, to compare message types.
    </>
  ),
  template: 'No messages from templates in this period.',
  stream: 'No messages in this period.',
  domain: 'No messages in this period.',
  receiver: 'No messages in this period.',
};

interface GroupsProps {
  groups: { group: string; totals: Figures }[];
  /** The total number of recipients in the range, for percentages. */
  total: number;
  by: Dimension;
  range: Range;
}

function Groups({ groups, total, by, range }: GroupsProps) {
  const name = DIMENSIONS.find(({ id }) => id === by)?.label ?? '';
  const most = Math.max(...groups.map(({ totals }) => totals.accepted), 1);
  return (
    <table
      className="w-full table-fixed border-collapse text-sm"
      aria-label={`Statistics by ${name.toLowerCase()}`}
    >
      <thead>
        <tr className="text-xs text-faint">
          <th scope="col" className="pb-1 text-left font-medium">
            {name}
          </th>
          <Head className="w-19 sm:w-32">Recipients</Head>
          <Head className="hidden w-24 sm:table-cell">Delivered</Head>
          <Head className="w-16 sm:w-24">Bounced</Head>
          <Head className="w-20 sm:w-26">Complaints</Head>
          <Head className="hidden w-28 lg:table-cell">Median (p50)</Head>
        </tr>
      </thead>
      <tbody>
        {groups.map(({ group, totals }) => (
          <tr key={group} className="border-t border-line">
            <th scope="row" className="py-2 pr-3 text-left font-normal">
              <GroupName group={group} by={by} range={range} />
              <OutcomesBar totals={totals} most={most} />
            </th>
            <Cell>
              {formatNumber(totals.accepted)}
              {total > 0 && (
                <span className="block text-xs text-faint sm:ml-2 sm:inline-block sm:w-12">
                  {percent.format(totals.accepted / total)}
                </span>
              )}
            </Cell>
            <Cell className="hidden sm:table-cell">{share(totals.rates.delivered)}</Cell>
            <Cell bad={(totals.rates.bounced ?? 0) >= MAX_BOUNCE_RATE}>
              <Bounced totals={totals} group={group} by={by} range={range} />
            </Cell>
            <Cell bad={(totals.rates.complained ?? 0) >= MAX_COMPLAINT_RATE}>
              {totals.rates.complained === null
                ? NO_VALUE
                : finePercent.format(totals.rates.complained)}
            </Cell>
            <Cell className="hidden text-soft lg:table-cell">
              {totals.latency.p50_ms === null ? NO_VALUE : formatDuration(totals.latency.p50_ms)}
            </Cell>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head({ className, children }: { className: string; children: ReactNode }) {
  return (
    <th scope="col" className={classNames('pb-1 pl-2 text-right font-medium', className)}>
      {children}
    </th>
  );
}

function Cell({
  className,
  bad,
  children,
}: {
  className?: string;
  bad?: boolean;
  children: ReactNode;
}) {
  return (
    <td
      className={classNames(
        'py-2 pl-2 text-right align-top tabular-nums',
        bad && 'font-medium text-bad',
        className,
      )}
    >
      {children}
    </td>
  );
}

/** Links to the messages of a group, if the list can be filtered by it. */
function GroupName({ group, by, range }: { group: string; by: Dimension; range: Range }) {
  const filter = filterOf(group, by, range);
  const text = groupLabel(by, group);
  if (!filter) {
    return <span className="block break-words">{text}</span>;
  }
  return (
    <Link
      to="/messages"
      search={filter}
      title={`View messages: ${text}`}
      className="block rounded font-medium break-words hover:underline"
    >
      {text}
    </Link>
  );
}

function Bounced({
  totals,
  group,
  by,
  range,
}: {
  totals: Figures;
  group: string;
  by: Dimension;
  range: Range;
}) {
  const filter = filterOf(group, by, range);
  if (!filter || totals.bounced === 0) return share(totals.rates.bounced);
  return (
    <Link
      to="/messages"
      search={{ ...filter, status: 'bounced' }}
      title={`View ${formatCount(totals.bounced, 'bounced recipient')}`}
      className="rounded underline decoration-line-strong underline-offset-3 hover:decoration-current"
    >
      {share(totals.rates.bounced)}
    </Link>
  );
}

function filterOf(group: string, by: Dimension, range: Range) {
  if (isOtherGroup(group)) return undefined;
  if (by === 'tag') return { tag: group, ...range.filter };
  if (by === 'stream') return { stream: group, ...range.filter };
  if (by === 'template') return { template: group, ...range.filter };
  return by === 'domain'
    ? { domain: group, ...range.filter }
    : { receiver: group, ...range.filter };
}

/** A bar whose length is relative to the largest group, colored by outcome. */
function OutcomesBar({ totals, most }: { totals: Figures; most: number }) {
  let reached = 0;
  const parts = OUTCOMES.map(({ name, color, read }) => {
    const from = reached;
    reached += read(totals) / most;
    return { name, color, from, part: read(totals) / most };
  });
  return (
    <svg className="mt-1.5 h-1 w-full" aria-hidden>
      <rect width="100%" height="4" rx="2" className="fill-sunken" />
      <rect width={`${(totals.accepted / most) * 100}%`} height="4" rx="2" fill="var(--line)" />
      {parts
        .filter(({ part }) => part > 0)
        .map(({ name, color, from, part }) => (
          <rect
            key={name}
            x={`${from * 100}%`}
            width={`${part * 100}%`}
            height="4"
            rx="1"
            fill={`var(${color})`}
          />
        ))}
    </svg>
  );
}

function share(rate: number | null): string {
  return rate === null ? NO_VALUE : percent.format(rate);
}
