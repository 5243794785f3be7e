import type { Schema } from '../../api/client.ts';
import { ExactTime } from '../../components/time.tsx';
import { classNames } from '../../lib/class-names.ts';
import { type EventData, labelEvent } from './event-labels.tsx';

const TONES = {
  good: 'bg-good-wash text-good',
  warn: 'bg-warn-wash text-warn',
  bad: 'bg-bad-wash text-bad',
  info: 'bg-info-wash text-info',
  plum: 'bg-plum-wash text-plum',
  plain: 'bg-sunken text-soft',
  accent: 'bg-accent-wash text-accent-ink',
} as const;

/** The events of a message, oldest first. */
export function Timeline({ events, many }: { events: readonly Schema<'Event'>[]; many: boolean }) {
  return (
    <ol className="grid">
      {events.map((event, index) => (
        <TimelineEntry
          key={event.id}
          event={event}
          showRecipient={many}
          before={events.slice(0, index).findLast((one) => isSameRecipient(one, event))}
          last={index === events.length - 1}
        />
      ))}
    </ol>
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
        <div className="flex flex-wrap items-baseline gap-x-2">
          <span className="text-sm font-medium">{title}</span>
          {showRecipient && data.recipient && (
            <span className="text-sm break-all text-soft">{data.recipient}</span>
          )}
          <ExactTime at={event.created_at} className="ml-auto shrink-0 text-xs text-faint" />
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
