import type { Pool } from './connections/pool.ts';
import { sqlTime } from './schema/row-types.ts';

export type RetentionTime =
  /** The clock is plausible: data can be deleted by it. */
  | { nowMs: number }
  /** The clock jumped forward and the jump is not confirmed yet: nothing must be deleted. */
  | { jumpSeenAtMs: number; lastSeenAtMs: number };

/**
 * Protects retention against a wrong clock. A clock that is years ahead would otherwise delete
 * everything at the first run, and so would the first start from an old backup. The last plausible
 * time is recorded every hour; a large jump is accepted once the clock has confirmed it for days.
 */
export async function checkRetentionClock(pool: Pool, nowMs: number): Promise<RetentionTime> {
  const { rows } = await pool.query<{ lastSeenAtMs: number; jumpSeenAtMs: number | null }>(
    `insert into retention_clock as old (last_seen_at) values ($1)
     on conflict (singleton) do update set
       last_seen_at = case when ${IS_PLAUSIBLE} then excluded.last_seen_at else old.last_seen_at end,
       jump_seen_at = case when ${IS_PLAUSIBLE} then null
         when old.jump_seen_at between $4 and $1 then old.jump_seen_at
         else excluded.last_seen_at end
     returning last_seen_at as "lastSeenAtMs", jump_seen_at as "jumpSeenAtMs"`,
    [
      sqlTime(nowMs),
      sqlTime(nowMs - JUMP_MS),
      sqlTime(nowMs - CONFIRMATION_MS),
      sqlTime(nowMs - REMEMBERED_MS),
    ],
  );
  const { lastSeenAtMs = nowMs, jumpSeenAtMs = null } = rows[0] ?? {};
  return jumpSeenAtMs === null ? { nowMs } : { jumpSeenAtMs, lastSeenAtMs };
}

/** A clock that was set back counts as plausible too: it makes rows look younger and deletes less. */
const IS_PLAUSIBLE = '(old.last_seen_at >= $2 or old.jump_seen_at between $4 and $3)';

const DAY_MS = 86_400_000;
/** The server may be down for this long without raising doubts about the clock. */
const JUMP_MS = 10 * DAY_MS;
/** Long enough for an operator to notice that all mail has a wrong date. */
const CONFIRMATION_MS = 3 * DAY_MS;
/** A jump that was seen longer ago than this is a different one. */
const REMEMBERED_MS = 60 * DAY_MS;
