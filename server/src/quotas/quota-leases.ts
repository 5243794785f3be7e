import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { readConsumerPosition } from '../events/event-consumer-store.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import { IDS_AHEAD_MAX_MS, uuidTime } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { LeaseResult } from './message-quotas.ts';
import {
  chunkOf,
  exhaustedQuota,
  HOUR_MS,
  isWarningDue,
  leftOf,
  MESSAGE_QUOTAS,
  type MessageQuota,
  type MessageUsage,
  periodOf,
  type Quotas,
} from './quota.ts';
import { addToLease, insertNotice, lockLease, readLeasedUsage } from './quota-store.ts';

/** Leases messages of a workspace's quotas to a node, and publishes when a quota is nearly or fully used. */

/** Events of an hour may be stored a while after it has ended. */
const LATE_EVENTS_MS = IDS_AHEAD_MAX_MS + 300_000;

export class QuotaLeases {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #onEventsAppended: () => void;

  constructor(parts: { pool: Pool; clock: Clock; onEventsAppended?: () => void }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#onEventsAppended = parts.onEventsAppended ?? (() => {});
  }

  /** Grants a chunk, or `messages` if that is more; all of it or nothing. */
  async lease(workspaceId: string, quotas: Quotas, messages: number): Promise<LeaseResult> {
    const nowMs = this.#clock.now();
    const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    const countedUntilMs = await this.#countedUntilMs();
    const { result, published } = await inTransaction(this.#pool, async (db) => {
      await lockLease(db, workspaceId, hourMs);
      const usage = await readLeasedUsage(db, workspaceId, {
        hourMs,
        dayMs: periodOf('messages_per_day', nowMs).startMs,
        monthMs: periodOf('messages_per_month', nowMs).startMs,
        countedUntilMs,
      });
      const decided = decideLease(quotas, usage, messages);
      if (decided.granted > 0) await addToLease(db, workspaceId, hourMs, decided.granted);
      const events: NewEvent[] = [];
      for (const notice of noticesOf(quotas, usage, decided)) {
        const { startMs } = periodOf(notice.quota, nowMs);
        const key = `${notice.quota}/${notice.kind}`;
        if (!(await insertNotice(db, workspaceId, key, startMs))) continue;
        events.push(quotaEvent(workspaceId, notice, nowMs));
      }
      await appendEvents(db, events);
      return { result: decided, published: events.length > 0 };
    });
    if (published) this.#onEventsAppended();
    return result;
  }

  async giveBack(workspaceId: string, hourMs: number, messages: number): Promise<void> {
    await addToLease(this.#pool, workspaceId, hourMs, -messages);
  }

  /** The statistics have counted all events before this time. */
  async #countedUntilMs(): Promise<number> {
    const { id } = await readConsumerPosition(this.#pool, 'statistics');
    return uuidTime(id) - LATE_EVENTS_MS;
  }
}

export function decideLease(quotas: Quotas, usage: MessageUsage, messages: number): LeaseResult {
  const left = leftOf(quotas, usage);
  const exhausted = exhaustedQuota(quotas, usage, messages);
  if (exhausted !== undefined) {
    return { granted: 0, left, exhausted, limit: quotas[exhausted] as number };
  }
  return { granted: Math.min(left, Math.max(messages, chunkOf(quotas))) };
}

interface Notice {
  kind: 'warning' | 'exceeded';
  quota: MessageQuota;
  limit: number;
  used: number;
}

/** What there is to publish after a lease, whether or not it was published before. */
export function noticesOf(
  quotas: Quotas,
  usage: MessageUsage,
  result: LeaseResult,
): readonly Notice[] {
  return MESSAGE_QUOTAS.flatMap((quota): Notice[] => {
    const limit = quotas[quota];
    if (limit === null) return [];
    const used = Math.min(limit, usage[quota] + result.granted);
    const about = { quota, limit, used };
    const isExhausted = 'exhausted' in result && result.exhausted === quota;
    return [
      ...(isWarningDue(limit, used, quotas.warn_at_percent)
        ? [{ kind: 'warning' as const, ...about }]
        : []),
      ...(isExhausted ? [{ kind: 'exceeded' as const, ...about }] : []),
    ];
  });
}

function quotaEvent(
  workspaceId: string,
  { kind, quota, limit, used }: Notice,
  nowMs: number,
): NewEvent {
  const resets_at = new Date(periodOf(quota, nowMs).endMs).toISOString();
  return {
    workspaceId,
    mode: 'live',
    type: `quota.${kind}`,
    atMs: nowMs,
    data: { quota: { name: quota, limit, used, resets_at } },
  };
}
