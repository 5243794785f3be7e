import type { Pool } from './pool.ts';
import { sqlTime } from './row-types.ts';

/**
 * The time by which what is too old is deleted, or undefined while there is none to go by. A clock
 * that is wrong by years would otherwise take everything with it at the first round after a start,
 * and so would the first start from an old backup. Time that has passed leaves a trace here every
 * hour; a leap is believed when the clock has stood by it for some days.
 */
export async function timeToForgetBy(
  pool: Pool,
  nowMs: number,
): Promise<{ nowMs: number } | { doubtedSinceMs: number; seenAtMs: number }> {
  const { rows } = await pool.query<{ seenAtMs: number; doubtedSinceMs: number | null }>(
    `insert into retention_clock as old (last_seen_at) values ($1)
     on conflict (singleton) do update set
       last_seen_at = case when ${BELIEVED} then excluded.last_seen_at else old.last_seen_at end,
       jump_seen_at = case when ${BELIEVED} then null
         when old.jump_seen_at between $4 and $1 then old.jump_seen_at
         else excluded.last_seen_at end
     returning last_seen_at as "seenAtMs", jump_seen_at as "doubtedSinceMs"`,
    [
      sqlTime(nowMs),
      sqlTime(nowMs - LEAP_MS),
      sqlTime(nowMs - DOUBTED_MS),
      sqlTime(nowMs - REMEMBERED_MS),
    ],
  );
  const { seenAtMs = nowMs, doubtedSinceMs = null } = rows[0] ?? {};
  return doubtedSinceMs === null ? { nowMs } : { doubtedSinceMs, seenAtMs };
}

/** Also when it was set back: what is young by it stays. */
const BELIEVED = '(old.last_seen_at >= $2 or old.jump_seen_at between $4 and $3)';

const DAY_MS = 86_400_000;
/** A house may stand still for this long without a question. */
const LEAP_MS = 10 * DAY_MS;
/** Long enough for somebody to see that all mail is dated wrong. */
const DOUBTED_MS = 3 * DAY_MS;
/** A doubt that is older belongs to another leap. */
const REMEMBERED_MS = 60 * DAY_MS;
