import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import type { Schema } from '../../api/client.ts';
import { ExactTime } from '../../components/time.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import { type EventData, labelEvent } from './event-labels.tsx';
import { repeatedEvents } from './repeated-events.ts';

const TONES = {
  good: 'bg-good-wash text-good',
  warn: 'bg-warn-wash text-warn',
  bad: 'bg-bad-wash text-bad',
  info: 'bg-info-wash text-info',
  plum: 'bg-plum-wash text-plum',
  plain: 'bg-sunken text-soft',
  accent: 'bg-accent-wash text-accent-ink',
} as const;

/** The events of a message, oldest first. Of many similar ones in a row, only the first and last. */
export function Timeline({ events, many }: { events: readonly Schema<'Event'>[]; many: boolean }) {
  const [expanded, setExpanded] = useState(false);
  const hidden = expanded ? new Map<string, number>() : repeatedEvents(events);
  return (
    <ol className="grid">
      {events.map((event, index) => {
        const count = hidden.get(event.id);
        if (count === 0) return null;
        if (count !== undefined) {
          return (
            <CollapsedEntries key={event.id} count={count} onExpand={() => setExpanded(true)} />
          );
        }
        return (
          <TimelineEntry
            key={event.id}
            event={event}
            showRecipient={many}
            before={events.slice(0, index).findLast((one) => isSameRecipient(one, event))}
            last={index === events.length - 1}
          />
        );
      })}
    </ol>
  );
}

function CollapsedEntries({ count, onExpand }: { count: number; onExpand: () => void }) {
  return (
    <li className="relative flex gap-3 pb-5">
      <span className="absolute top-7 bottom-0 left-[13px] w-px bg-line" aria-hidden />
      <button
        type="button"
        onClick={onExpand}
        className="group flex items-center gap-3 rounded text-sm text-soft hover:text-ink"
      >
        <span className="flex size-7 items-center justify-center rounded-full border border-line border-dashed">
          <ChevronDown className="size-4" aria-hidden />
        </span>
        Show {formatCount(count, 'similar event')}
      </button>
    </li>
  );
}

function isSameRecipient(one: Schema<'Event'>, other: Schema<'Event'>): boolean {
  return (one.data as EventData).recipient === (other.data as EventData).recipient;
}

function TimelineEntry({
  event,
  showRecipient,
  before,
  last,
}: {
  event: Schema<'Event'>;
  showRecipient: boolean;
  /** The previous event of the same recipient. */
  before: Schema<'Event'> | undefined;
  last: boolean;
}) {
  const data = event.data as EventData;
  const { icon: Icon, tone, title, detail, hideReply } = labelEvent(event.type, data);
  // Explain repeated deferrals with the same reason only once.
  const isRepeated =
    before?.type === event.type &&
    labelEvent(before.type, before.data as EventData).detail === detail;
  return (
    <li className="relative flex gap-3 pb-5 last:pb-1">
      {!last && <span className="absolute top-7 bottom-0 left-[13px] w-px bg-line" aria-hidden />}
      <span
        className={classNames(
          'flex size-7 shrink-0 items-center justify-center rounded-full',
          TONES[tone],
        )}
      >
        <Icon className="size-4" aria-hidden />
      </span>
      <div className="min-w-0 flex-1 pt-1">
        <div className="flex items-baseline gap-x-2">
          <span className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-2">
            <span className="text-sm font-medium">{title}</span>
            {showRecipient && data.recipient && (
              <span className="text-sm break-all text-soft">{data.recipient}</span>
            )}
          </span>
          <ExactTime at={event.created_at} className="shrink-0 text-xs text-faint" />
        </div>
        {detail && !isRepeated && <p className="text-sm text-soft">{detail}</p>}
        {data.smtp?.text && !hideReply && (
          <p className="mt-1 font-mono text-xs break-words text-faint">
            {[data.smtp.code, data.smtp.enhanced, data.smtp.text].filter(Boolean).join(' ')}
          </p>
        )}
      </div>
    </li>
  );
}
