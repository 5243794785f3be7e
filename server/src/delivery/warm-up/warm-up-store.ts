import type { TenantScope } from '../../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { WarmUpsRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { WarmUpMemory } from './warm-up.ts';
import {
  capOf,
  DAY_MS,
  leaseBlock,
  newProgress,
  progressAt,
  type WarmUpLease,
  type WarmUpProgress,
  type WarmUpRequest,
} from './warm-up-plan.ts';

/**
 * How far the warm-up of each sender has come with each provider, shared by all nodes. The number of
 * rows depends on addresses and providers only, and a row is written for a block of messages, never
 * for a single one.
 */
export interface WarmUpKey {
  /** The addresses that mail is sent from, or the HELO name. */
  sender: string;
  provider: string;
}

const PROGRESS = selectList<WarmUpsRow, WarmUpProgress>({
  startsAtMs: 'starts_at',
  dayMs: 'day',
  planDay: 'plan_day',
  leased: 'leased',
  refused: 'refused',
  overflowed: 'overflowed',
});

export function warmUpMemory(pool: Pool, sender: string): WarmUpMemory {
  return {
    lease: (provider, request) => lease(pool, { sender, provider }, request),
    giveBack: (provider, unused) => giveBack(pool, { sender, provider }, unused),
    count: (provider, counts) => count(pool, { sender, provider }, counts),
  };
}

/** If the result of the commit is unknown, the block may be leased without being used. */
function lease(
  pool: Pool,
  { sender, provider }: WarmUpKey,
  request: WarmUpRequest,
): Promise<WarmUpLease> {
  return inTransaction(pool, async (db) => {
    const first = newProgress(request.startsAtMs, request.nowMs, request.startDay);
    await db.query(
      `insert into warm_ups (sender, provider, starts_at, day, plan_day, leased, refused, overflowed)
       values ($1, $2, $3, $4, $5, 0, 0, 0) on conflict do nothing`,
      [sender, provider, sqlTime(first.startsAtMs), sqlTime(first.dayMs), first.planDay],
    );
    const { rows } = await db.query<WarmUpProgress>(
      `select ${PROGRESS} from warm_ups where sender = $1 and provider = $2 for update`,
      [sender, provider],
    );
    const leased = leaseBlock(rows[0] as WarmUpProgress, request);
    const { progress } = leased;
    await db.query(
      `update warm_ups set starts_at = $3, day = $4, plan_day = $5, leased = $6, refused = $7,
              overflowed = $8
        where sender = $1 and provider = $2`,
      [
        ...[sender, provider, sqlTime(progress.startsAtMs), sqlTime(progress.dayMs)],
        ...[progress.planDay, progress.leased, progress.refused, progress.overflowed],
      ],
    );
    return leased;
  });
}

/** Returns what was not used of the leases of a day. */
async function giveBack(
  pool: Pool,
  { sender, provider }: WarmUpKey,
  { dayMs, messages }: { dayMs: number; messages: number },
): Promise<void> {
  await pool.query(
    `update warm_ups set leased = greatest(0, leased - $4)
      where sender = $1 and provider = $2 and day = $3`,
    [sender, provider, sqlTime(dayMs), messages],
  );
}

/** Counts of the last moment before midnight may count for the next day. */
async function count(
  pool: Pool,
  { sender, provider }: WarmUpKey,
  { refused, overflowed }: Pick<WarmUpProgress, 'refused' | 'overflowed'>,
): Promise<void> {
  await pool.query(
    `update warm_ups set refused = refused + $3, overflowed = overflowed + $4
      where sender = $1 and provider = $2`,
    [sender, provider, refused, overflowed],
  );
}

/**
 * Counts a bounce or complaint that arrived after the message was sent like a refusal at that time, for the
 * warm-up of the address that sent it. It counts for today, because the day on which the message was sent
 * may be over; but not for a plan that started after that.
 */
export async function countLateRefusal(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  { messageId, ordinal }: { messageId: string; ordinal: number },
): Promise<void> {
  await db.query(
    `update warm_ups w set refused = w.refused + 1
       from (select warm_up_sender, warm_up_provider, started_at from attempts
              where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = $4
              order by number desc limit 1) a
      where w.sender = a.warm_up_sender and w.provider = a.warm_up_provider
        and w.starts_at <= a.started_at`,
    [workspaceId, mode, messageId, ordinal],
  );
}

export type StoredWarmUp = WarmUpKey & WarmUpProgress;

/** The progress of today with every provider that got mail since a time. */
export async function listWarmUps(
  pool: Pool,
  { nowMs, sinceMs }: { nowMs: number; sinceMs: number },
): Promise<StoredWarmUp[]> {
  const { rows } = await pool.query<StoredWarmUp>(
    `select sender, provider, ${PROGRESS} from warm_ups where day >= $1
      order by sender, provider limit ${LISTED_MAX}`,
    [sqlTime(sinceMs)],
  );
  return rows.map(({ sender, provider, ...progress }) => ({
    ...{ sender, provider },
    ...progressAt(progress, nowMs),
  }));
}

/** What operators see of the warm-up of an address with a provider. */
export interface CurrentWarmUp {
  address: string;
  provider: string;
  /** The day of the plan, from 1. */
  day: number;
  /** Null after the warm-up has ended. */
  cap: number | null;
  used: number;
  overflowed: number;
  refused: number;
}

/** Of addresses that are in use. */
export async function listCurrentWarmUps(pool: Pool, nowMs: number): Promise<CurrentWarmUp[]> {
  const stored = await listWarmUps(pool, { nowMs, sinceMs: nowMs - CURRENT_MS });
  return stored.map((one) => ({
    address: one.sender,
    provider: one.provider,
    day: one.planDay,
    cap: capOf(one),
    used: one.leased,
    overflowed: one.overflowed,
    refused: one.refused,
  }));
}

const CURRENT_MS = 7 * DAY_MS;
/** With rules of an operator's own, there may be any number of providers. */
const LISTED_MAX = 1_000;
