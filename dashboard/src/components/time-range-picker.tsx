import { CalendarDays } from 'lucide-react';
import { Popover } from 'radix-ui';
import { useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { ANY_TIME, PERIODS, type TimeRange, timeRangeLabel } from '../lib/time-range.ts';
import { Button } from './button.tsx';
import { Field, TextInput } from './field.tsx';
import { localTime } from './time.tsx';

const CHOICES = [
  ['', 'Any time'],
  ...Object.entries(PERIODS).map(([id, { label }]) => [id, label]),
];

/** Filters by time: one of the usual periods, or exact times. */
export function TimeRangePicker({
  range,
  exactOnly = false,
  onChange,
}: {
  range: TimeRange;
  /** A start and perhaps an end, without the usual periods, which the page offers beside it. */
  exactOnly?: boolean;
  onChange: (next: Required<TimeRange>) => void;
}) {
  const [open, setOpen] = useState(false);
  const [after, setAfter] = useState('');
  const [before, setBefore] = useState('');
  const isExact = Boolean(range.after || range.before);
  const label = exactOnly && !isExact ? 'Custom' : timeRangeLabel(range, Date.now());
  const isReversed = after !== '' && before !== '' && after >= before;
  const choose = (next: TimeRange) => {
    setOpen(false);
    onChange({ ...ANY_TIME, ...next });
  };
  return (
    <Popover.Root
      open={open}
      onOpenChange={(next) => {
        setAfter(inputTime(range.after));
        setBefore(inputTime(range.before));
        setOpen(next);
      }}
    >
      <Popover.Trigger asChild>
        <Button icon={CalendarDays} aria-label={`Time: ${label}`}>
          {label}
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={12}
          aria-label="Time"
          className="pop z-40 max-h-(--radix-popover-content-available-height) w-64 overflow-y-auto rounded-xl border border-line bg-raised shadow-pop"
        >
          {!exactOnly && (
            <div className="grid p-1">
              {CHOICES.map(([id = '', text]) => {
                const isChosen = !isExact && (range.since ?? '') === id;
                return (
                  <button
                    key={id}
                    type="button"
                    aria-pressed={isChosen}
                    onClick={() => choose({ since: id })}
                    className={classNames(
                      'rounded-md px-2 py-1.5 text-left text-sm -outline-offset-2',
                      isChosen ? 'bg-accent-wash font-medium text-accent-ink' : 'hover:bg-sunken',
                    )}
                  >
                    {text}
                  </button>
                );
              })}
            </div>
          )}
          <form
            className="grid gap-3 border-line p-3 not-first:border-t"
            onSubmit={(event) => {
              event.preventDefault();
              if (!isReversed) choose({ after: timestamp(after), before: timestamp(before) });
            }}
          >
            <Field label="From">
              <TextInput
                type="datetime-local"
                max="9999-12-31T23:59"
                value={after}
                onChange={(event) => setAfter(event.target.value)}
              />
            </Field>
            <Field label="To" error={isReversed ? 'Must be after the start.' : undefined}>
              <TextInput
                type="datetime-local"
                max="9999-12-31T23:59"
                value={before}
                onChange={(event) => setBefore(event.target.value)}
              />
            </Field>
            <Button
              type="submit"
              kind="primary"
              disabled={isReversed || (after === '' && (exactOnly || before === ''))}
            >
              Apply range
            </Button>
          </form>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** A timestamp from the URL may be anything. */
function inputTime(at = ''): string {
  return Number.isNaN(Date.parse(at)) ? '' : localTime(at);
}

function timestamp(local: string): string {
  return local === '' ? '' : new Date(local).toISOString();
}
