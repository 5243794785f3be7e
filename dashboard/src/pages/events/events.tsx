import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Activity, ChevronRight, Pause, Play, SearchX } from 'lucide-react';
import { useState } from 'react';
import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ExportMenu } from '../../components/export-menu.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { SavedFilters } from '../../components/saved-filters.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { ExactTime, Time } from '../../components/time.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import { streamState } from '../../layout/event-stream.ts';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import { useStore } from '../../lib/store.ts';
import { useSelection } from '../../session/selection.ts';
import { ShellExample } from '../api-keys/send-snippets.tsx';
import { curlSnippet } from '../api-keys/snippet-code.ts';
import { StreamSelect } from '../streams/stream-select.tsx';
import { summarizeEvent } from './event-summary.ts';
import { EventTypeSelect } from './event-type-select.tsx';
import { type EventFilters, eventQuery, useEvents } from './use-events.ts';

export function EventsPage() {
  const filters = useSearch({ from: '/inside/events' });
  const navigate = useNavigate();
  const [paused, setPaused] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const list = useEvents(filters, paused);
  const change = (next: EventFilters) =>
    void navigate({ to: '/events', search: next, replace: true });
  const toggle = (id: string) =>
    setOpen((now) => {
      const next = new Set(now);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  return (
    <Page
      full
      title="Events"
      description="Live event log, the same events your webhooks receive."
      actions={
        <>
          {list.rows.length > 0 && <ExportMenu list="events" filters={eventQuery(filters)} />}
          <Button icon={paused ? Play : Pause} onClick={() => setPaused(!paused)}>
            {paused
              ? list.waiting > 0
                ? `Show ${formatCount(list.waiting, 'new event')}`
                : 'Resume'
              : 'Pause'}
          </Button>
        </>
      }
    >
      <search className="flex flex-wrap items-center gap-2 px-4 pb-3 sm:px-6">
        <SearchInput
          label="Search by recipient"
          complete="address"
          value={filters.recipient ?? ''}
          onChange={(recipient) => change({ ...filters, recipient })}
        />
        <div className="w-44 sm:w-48">
          <EventTypeSelect
            label="Event type"
            any="Any event"
            families
            value={filters.type ?? ''}
            onChange={(type) => change({ ...filters, type })}
          />
        </div>
        <div className="w-40">
          <StreamSelect
            label="Stream"
            none="Any stream"
            value={filters.stream ?? ''}
            onChange={(stream) => change({ ...filters, stream })}
          />
        </div>
        <TimeRangePicker range={filters} onChange={(range) => change({ ...filters, ...range })} />
        <SavedFilters list="events" filters={{ ...filters }} onApply={change} />
        <span className="ml-auto flex items-center gap-4">
          <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="event" />
          <LiveIndicator paused={paused} />
        </span>
      </search>
      <PaginatedList
        list={list}
        items="events"
        placeholderRows={12}
        empty={<NoEvents filtered={Object.keys(filters).length > 0} onClear={() => change({})} />}
      >
        <div
          aria-hidden
          className={classNames(
            'sticky top-0 z-2 hidden h-8 items-center gap-x-3 border-line border-t bg-sunken px-6 text-xs font-medium text-faint md:grid',
            COLUMNS,
          )}
        >
          <span />
          <span>Event</span>
          <span>Subject</span>
          <span>Type</span>
          <span className="text-right">Time</span>
        </div>
        <ul aria-label="Events" className="divide-y divide-line border-y border-line">
          {list.rows.map((event) => (
            <EventRow
              key={event.id}
              event={event}
              arrived={list.arrived.has(event.id)}
              open={open.has(event.id)}
              onToggle={() => toggle(event.id)}
            />
          ))}
        </ul>
      </PaginatedList>
    </Page>
  );
}

/** The columns of the header and of each row. On phones, a row has two lines. */
const COLUMNS = 'md:grid-cols-[1rem_10rem_minmax(0,1fr)_11rem_6.5rem_1rem]';

const INDICATORS = {
  live: { label: 'Live', dot: 'bg-good' },
  connecting: { label: 'Connecting', dot: 'bg-faint' },
  lost: { label: 'Connection lost, reconnecting', dot: 'bg-bad' },
  paused: { label: 'Paused', dot: 'bg-warn' },
} as const;

function LiveIndicator({ paused }: { paused: boolean }) {
  const state = useStore(streamState);
  const { label, dot } = INDICATORS[paused ? 'paused' : state];
  return (
    <span role="status" className="inline-flex items-center gap-2 text-xs text-soft">
      <span className="relative flex size-2" aria-hidden>
        {!paused && state === 'live' && (
          <span className="absolute inset-0 rounded-full bg-good opacity-60 motion-safe:animate-ping" />
        )}
        <span className={classNames('relative size-2 rounded-full', dot)} />
      </span>
      {label}
    </span>
  );
}

const TONES: Record<Tone, string> = {
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  info: 'text-info',
  plum: 'text-plum',
  plain: 'text-faint',
  accent: 'text-accent-ink',
};

function EventRow({
  event,
  arrived,
  open,
  onToggle,
}: {
  event: Schema<'Event'>;
  arrived: boolean;
  open: boolean;
  onToggle: () => void;
}) {
  const { icon: Icon, tone, title, subject, link } = summarizeEvent(event);
  return (
    <li className={classNames(arrived && 'arrived')}>
      <button
        type="button"
        data-row
        aria-expanded={open}
        onClick={onToggle}
        className={classNames(
          'grid w-full scroll-mt-10 grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 text-left text-sm -outline-offset-2 transition-colors hover:bg-sunken sm:px-6',
          COLUMNS,
        )}
      >
        <Icon className={classNames('size-4 shrink-0', TONES[tone])} aria-hidden />
        <span className="truncate font-medium">{title}</span>
        <span className="order-last col-span-2 col-start-2 truncate text-soft md:order-none md:col-span-1 md:col-start-auto">
          {subject}
        </span>
        <span className="hidden truncate font-mono text-xs text-faint md:block">{event.type}</span>
        <Time at={event.created_at} className="text-right text-xs text-faint" />
        <ChevronRight
          className={classNames(
            'hidden size-4 text-faint transition-transform md:block',
            open && 'rotate-90',
          )}
          aria-hidden
        />
      </button>
      {open && (
        <div className="grid gap-3 px-4 pt-1 pb-4 sm:px-6 md:pl-13">
          <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-faint">
            <ExactTime at={event.created_at} />
            <span className="font-mono">{event.type}</span>
            {link && (
              <Link
                to={link.to}
                search={(link.search ?? {}) as never}
                className="font-medium text-accent-ink hover:underline"
              >
                {link.label}
              </Link>
            )}
          </p>
          <CodeBlock
            label={`event ${event.id}`}
            language="json"
            code={JSON.stringify(event, null, 2)}
            wrap
          />
        </div>
      )}
    </li>
  );
}

function NoEvents({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  const { mode } = useSelection();
  if (filtered) {
    return (
      <EmptyState
        icon={SearchX}
        title="No events match these filters"
        actions={<Button onClick={onClear}>Clear filters</Button>}
      >
        New matching events appear here automatically.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={Activity}
      title={mode === 'live' ? 'No live events yet' : 'No test events yet'}
      example={
        <ShellExample
          scopes={['read:events']}
          // The event of a new key would replace this example.
          createKey={false}
          code={({ token }) => curlSnippet('/events/stream', token, undefined, '-N ')}
        />
      }
    >
      Send a message and its events appear here automatically. Your application can follow the same
      stream:
    </EmptyState>
  );
}
