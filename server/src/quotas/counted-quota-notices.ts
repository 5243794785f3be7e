import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import type { Clock } from '../lib/time/clock.ts';
import { isWarningDue } from './quota.ts';
import { deleteNotices, findNotices, insertStandingNotice } from './quota-store.ts';

/**
 * Publishes when a quota of what a workspace keeps (contacts, content) is nearly or fully used. Requests only
 * note that something was added; a periodic task counts and publishes, so they neither wait nor query for it.
 * Each event is published once until the usage has fallen again, by all nodes together.
 */

export type CountedQuotaName = 'contacts' | 'content_bytes';

export interface CountedQuotaNoticesParts {
  pool: Pool;
  clock: Clock;
  name: CountedQuotaName;
  /** Undefined if the workspace has no such quota. */
  limitOf(workspaceId: string): Promise<QuotaLimit | undefined>;
  /** What is there, counted up to a maximum. */
  count(workspaceId: string, max: number): Promise<number>;
  onEventsAppended?: (() => void) | undefined;
}

export interface QuotaLimit {
  limit: number;
  warnAtPercent: number;
}

/** What requests noted about a workspace since the last check. */
interface Observed {
  /** The lowest count, and when it was made. */
  lowest: { used: number; atMs: number } | undefined;
  isRefused: boolean;
  isDue: boolean;
  nextCheckMs: number;
}

/** A warning can be repeated below this part of its share, so that it does not flutter. */
const CLEAR_RATIO = 0.9;
/** Large workspaces are counted less often, so that counting takes at most a hundredth of the time. */
const COUNT_TIME_FACTOR = 100;
const WORKSPACES_MAX = 10_000;

export class CountedQuotaNotices {
  readonly #parts: CountedQuotaNoticesParts;
  readonly #observed = new Map<string, Observed>();

  constructor(parts: CountedQuotaNoticesParts) {
    this.#parts = parts;
  }

  /** Something was added, or the quota was changed. */
  changed(workspaceId: string): void {
    this.#observedOf(workspaceId).isDue = true;
  }

  /** Without this, usage that falls and rises again between two checks would not be noticed. */
  counted(workspaceId: string, used: number, atMs: number): void {
    const observed = this.#observedOf(workspaceId);
    if (used <= (observed.lowest?.used ?? Infinity)) observed.lowest = { used, atMs };
  }

  refused(workspaceId: string): void {
    const observed = this.#observedOf(workspaceId);
    observed.isRefused = true;
    observed.isDue = true;
  }

  /** Checks the workspaces in which something has changed. */
  async publish(): Promise<void> {
    let isPublished = false;
    const errors: unknown[] = [];
    for (const [workspaceId, observed] of [...this.#observed]) {
      const startedAtMs = this.#parts.clock.now();
      if (!observed.isDue || startedAtMs < observed.nextCheckMs) continue;
      observed.isDue = false;
      try {
        isPublished = (await this.#check(workspaceId, observed)) || isPublished;
      } catch (error) {
        observed.isDue = true;
        errors.push(error);
      }
      const nowMs = this.#parts.clock.now();
      observed.nextCheckMs = nowMs + (nowMs - startedAtMs) * COUNT_TIME_FACTOR;
    }
    if (isPublished) this.#parts.onEventsAppended?.();
    if (errors.length > 0) throw errors[0];
  }

  async #check(workspaceId: string, observed: Observed): Promise<boolean> {
    const quota = await this.#parts.limitOf(workspaceId);
    if (!quota) {
      this.#observed.delete(workspaceId);
      return false;
    }
    const countedAtMs = this.#parts.clock.now();
    const used = await this.#parts.count(workspaceId, quota.limit);
    this.counted(workspaceId, used, countedAtMs);
    const { isRefused, lowest } = observed;
    const levels = { quota, used, isRefused, lowest: lowest ?? { used, atMs: countedAtMs } };
    const isPublished = await this.#publish(workspaceId, levels);
    if (observed.isRefused === isRefused) observed.isRefused = false;
    if (observed.lowest === lowest) observed.lowest = undefined;
    return isPublished;
  }

  async #publish(workspaceId: string, levels: Levels): Promise<boolean> {
    const { pool, clock, name } = this.#parts;
    const { cleared, due } = decideNotices(levels);
    const keyOf = (kind: NoticeKind): string => `${name}/${kind}`;
    // Only what was published before the low count: another node may have seen the rise already.
    await deleteNotices(pool, workspaceId, cleared.map(keyOf), levels.lowest.atMs);
    if (due.length === 0) return false;
    const published = await findNotices(pool, workspaceId, due.map(keyOf));
    if (published.length === due.length) return false;
    return inTransaction(pool, async (db) => {
      await lockForTransaction(db, 'quotas', workspaceId);
      const nowMs = clock.now();
      const events: NewEvent[] = [];
      for (const kind of due) {
        if (!(await insertStandingNotice(db, workspaceId, keyOf(kind), nowMs))) continue;
        const { limit } = levels.quota;
        const data = { quota: { name, limit, used: levels.used, resets_at: null } };
        events.push({ workspaceId, mode: 'live', type: `quota.${kind}`, atMs: nowMs, data });
      }
      await appendEvents(db, events);
      return events.length > 0;
    });
  }

  #observedOf(workspaceId: string): Observed {
    const found = this.#observed.get(workspaceId);
    if (found) return found;
    // What is forgotten is checked after the next addition.
    if (this.#observed.size >= WORKSPACES_MAX) this.#observed.clear();
    const observed = { lowest: undefined, isRefused: false, isDue: false, nextCheckMs: 0 };
    this.#observed.set(workspaceId, observed);
    return observed;
  }
}

type NoticeKind = 'warning' | 'exceeded';

interface Levels {
  quota: QuotaLimit;
  used: number;
  lowest: { used: number; atMs: number };
  isRefused: boolean;
}

/** What there is to publish, whether or not it was published before, and what can be published again. */
export function decideNotices({ quota, used, lowest, isRefused }: Levels): {
  cleared: NoticeKind[];
  due: NoticeKind[];
} {
  const { limit, warnAtPercent } = quota;
  const isBelow = (percent: number): boolean => !isWarningDue(limit, lowest.used, percent);
  return {
    cleared: [
      ...(isBelow(warnAtPercent * CLEAR_RATIO) ? ['warning' as const] : []),
      ...(isBelow(warnAtPercent) ? ['exceeded' as const] : []),
    ],
    due: [
      // Nothing is used of a quota of 0, so only a refusal is worth an event.
      ...(limit > 0 && isWarningDue(limit, used, warnAtPercent) ? ['warning' as const] : []),
      ...(isRefused || (limit > 0 && used >= limit) ? ['exceeded' as const] : []),
    ],
  };
}
