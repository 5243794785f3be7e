/**
 * The plan by which a new sending address gets its reputation: how many messages it may send to a
 * mailbox provider on each day. The cap grows with success, provider by provider: a day of the plan is
 * over when mail was sent on it and the provider did not object. Pure functions.
 */

/** The caps of the days of the plan, which double every other day. After the last, there is none. */
export const WARM_UP_CAPS: readonly number[] = [
  50, 75, 100, 150, 200, 300, 400, 600, 800, 1_200, 1_600, 2_400, 3_200, 4_800, 6_500, 10_000,
  13_000, 19_000, 26_000, 38_000, 50_000, 75_000, 100_000, 150_000, 200_000, 300_000, 400_000,
  600_000, 800_000, 1_200_000,
];

/** Where the warm-up of a sender with a provider has come to. */
export interface WarmUpProgress {
  /** When the plan started, by the setting. */
  startsAtMs: number;
  /** The start of the day, in UTC, on which the following was counted. */
  dayMs: number;
  /** The day of the plan, from 1. */
  planDay: number;
  /** Messages that nodes may send or have sent. */
  leased: number;
  /** Messages that the provider refused because of the sender's reputation or rate, or whose recipients complained. */
  refused: number;
  /** Messages beyond the cap. */
  overflowed: number;
}

export const DAY_MS = 86_400_000;

export function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Null: the provider may get any number of messages. */
export function capOf({ planDay }: Pick<WarmUpProgress, 'planDay'>): number | null {
  return WARM_UP_CAPS[planDay - 1] ?? null;
}

export function newProgress(startsAtMs: number, nowMs: number, planDay = 1): WarmUpProgress {
  return {
    startsAtMs,
    dayMs: startOfDay(nowMs),
    planDay,
    leased: 0,
    refused: 0,
    overflowed: 0,
  };
}

/**
 * The progress at `nowMs`. Never returns to an earlier day: after a clock was set back, the later day
 * continues, so that its cap is not used twice.
 */
export function progressAt(progress: WarmUpProgress, nowMs: number): WarmUpProgress {
  const dayMs = startOfDay(nowMs);
  if (dayMs <= progress.dayMs) return progress;
  const planDay = progress.planDay + (hasSucceeded(progress) ? 1 : 0);
  return newProgress(progress.startsAtMs, nowMs, planDay);
}

/**
 * A day on which less than half the cap was sent proves nothing about twice as much. A provider
 * objects if it refuses one message in 200: single refusals are about a mailbox or a passing limit.
 */
function hasSucceeded(progress: WarmUpProgress): boolean {
  const cap = capOf(progress);
  if (cap === null) return false;
  const { leased, refused } = progress;
  return leased * 2 >= cap && refused * REFUSED_SHARE < leased;
}

const REFUSED_SHARE = 200;

export interface WarmUpRequest {
  startsAtMs: number;
  /** The day of the plan to begin with. */
  startDay: number;
  nowMs: number;
  messages: number;
}

export interface WarmUpLease {
  /** Messages that the node may send on the day: all that it asked for, or what is left. */
  granted: number;
  progress: WarmUpProgress;
}

/**
 * Leases a block of the cap, or `messages` if that is more. A node that is killed loses the rest of
 * its block: at most a fiftieth of the cap.
 */
export function leaseBlock(
  known: WarmUpProgress,
  { startsAtMs, startDay, nowMs, messages }: WarmUpRequest,
): WarmUpLease {
  const progress = progressOf(known, { startsAtMs, startDay, nowMs });
  const cap = capOf(progress);
  if (cap === null) return { granted: messages, progress };
  const block = Math.min(Math.max(messages, Math.ceil(cap / BLOCKS), 1), BLOCK_MAX);
  const granted = Math.max(0, Math.min(Math.max(messages, block), cap - progress.leased));
  return { granted, progress: { ...progress, leased: progress.leased + granted } };
}

/**
 * Nodes may be restarted with a new date or day one after the other, so an earlier one changes nothing.
 * A later day of the same plan is where it continues.
 */
function progressOf(
  known: WarmUpProgress,
  { startsAtMs, startDay, nowMs }: Omit<WarmUpRequest, 'messages'>,
): WarmUpProgress {
  if (startsAtMs > known.startsAtMs) return newProgress(startsAtMs, nowMs, startDay);
  const progress = progressAt(known, nowMs);
  if (startsAtMs < known.startsAtMs || startDay <= progress.planDay) return progress;
  return { ...progress, planDay: startDay };
}

const BLOCKS = 50;
const BLOCK_MAX = 1_000;
