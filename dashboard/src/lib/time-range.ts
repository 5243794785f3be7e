/** The time filter of a list: a period that ends now, or exact times. It is part of the URL. */
export interface TimeRange {
  since?: string;
  after?: string;
  before?: string;
}

/** Clears the filter: empty search parameters are left out of the URL. */
export const ANY_TIME = { since: '', after: '', before: '' } as const satisfies TimeRange;

export const PERIODS: Record<string, { label: string; ms: number }> = {
  '1h': { label: 'Last hour', ms: 3_600_000 },
  '24h': { label: 'Last 24 hours', ms: 86_400_000 },
  '7d': { label: 'Last 7 days', ms: 7 * 86_400_000 },
  '30d': { label: 'Last 30 days', ms: 30 * 86_400_000 },
};

/** The parameters of the API. */
export function timeQuery(
  { since = '', after = '', before = '' }: TimeRange,
  nowMs: number,
): { created_after?: string; created_before?: string } {
  const period = PERIODS[since];
  const periodStart = period ? new Date(nowMs - period.ms).toISOString() : '';
  // Timestamps of one format sort by time.
  const createdAfter = [periodStart, after].sort()[1];
  return {
    ...(createdAfter ? { created_after: createdAfter } : {}),
    ...(before ? { created_before: before } : {}),
  };
}

const time = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const timeOfYear = new Intl.DateTimeFormat('en', {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** A short text for the filter, in local time. */
export function timeRangeLabel({ since = '', after, before }: TimeRange, nowMs: number): string {
  if (after && before) return `${formatTime(after, nowMs)} – ${formatTime(before, nowMs)}`;
  if (after) return `Since ${formatTime(after, nowMs)}`;
  if (before) return `Until ${formatTime(before, nowMs)}`;
  return PERIODS[since]?.label ?? 'Any time';
}

/** A timestamp from the URL may be anything. */
function formatTime(at: string, nowMs: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const isThisYear = date.getFullYear() === new Date(nowMs).getFullYear();
  return (isThisYear ? time : timeOfYear).format(date);
}
