import { useEffect } from 'react';
import { classNames } from '../lib/class-names.ts';
import { createStore, useStore } from '../lib/store.ts';

/**
 * A relative time with the exact time as its tooltip. All instances update together. A time that is
 * about to come, or overdue, is not in the past if it is `upcoming`.
 */
export function Time({
  at,
  upcoming = false,
  className,
}: {
  at: string | null | undefined;
  upcoming?: boolean;
  className?: string;
}) {
  const now = useNow();
  if (!at) return <span className={classNames('whitespace-nowrap', className)}>Never</span>;
  return (
    <time dateTime={at} title={exactTime(at)} className={className}>
      {upcoming ? upcomingTime(at, now) : relativeTime(at, now)}
    </time>
  );
}

const TICK_MS = 10_000;
const clock = createStore(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function useNow(): number {
  const now = useStore(clock);
  useEffect(() => {
    watchers += 1;
    timer ??= setInterval(() => clock.set(Date.now()), TICK_MS);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return Math.max(now, Date.now() - TICK_MS);
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Number.POSITIVE_INFINITY],
];

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });

export function relativeTime(at: string, now: number): string {
  let amount = (Date.parse(at) - now) / 1000;
  // The shared clock may be behind by a tick, so what just happened may seem to be ahead.
  if (Math.abs(amount) * 1000 < TICK_MS) return 'just now';
  for (const [unit, count] of UNITS) {
    if (Math.abs(amount) < count) return relative.format(Math.round(amount), unit);
    amount /= count;
  }
  return at;
}

/** What is due has not happened yet: its time may have just passed. */
export function upcomingTime(at: string, now: number): string {
  return Date.parse(at) - now < TICK_MS ? 'shortly' : relativeTime(at, now);
}

const exact = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});

/** The local date and time, for use in a sentence. */
export function dateAndTime(at: string): string {
  return exact.format(new Date(at));
}

/** For tooltips: the local time, and the UTC timestamp from the API on a second line. */
export function exactTime(at: string): string {
  return `${dateAndTime(at)}\n${at}`;
}

/** Local time for a datetime-local input, to the minute. */
export function localTime(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const clockTime = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const dayTime = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** The time of day, with the date unless it is today. */
export function ExactTime({ at, className }: { at: string | null; className?: string }) {
  if (!at) return null;
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return (
    <time dateTime={at} title={exactTime(at)} className={className}>
      {(today ? clockTime : dayTime).format(date)}
    </time>
  );
}
