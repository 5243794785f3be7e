import type { Queryable } from '../../db/pool.ts';
import { sqlTime } from '../../db/row-types.ts';

export interface AttemptLimit {
  /** This many tries cost no wait. */
  free: number;
  /** The wait after that, doubled with every further try up to the longest. */
  waitMs: number;
  waitMaxMs: number;
  /** After so long without a try all is forgotten. */
  forgetMs: number;
}

/**
 * Counts a try before it is made, in one statement, so that a thousand at once are a thousand.
 * Undefined: it may be made. Otherwise the time before which none may be. Without a wait that is
 * -infinity and not the present: two requests at once do not agree on the present.
 */
export async function countAttempt(
  db: Queryable,
  subject: Buffer,
  limit: AttemptLimit,
  nowMs: number,
): Promise<number | undefined> {
  const { rowCount } = await db.query(
    `insert into auth_throttles as a (subject, attempts, last_attempt_at, blocked_until)
     values ($1, 1, $2, '-infinity')
     on conflict (subject) do update set
       attempts = case when a.last_attempt_at < $3 then 1 else a.attempts + 1 end,
       last_attempt_at = $2,
       blocked_until = case
         when a.last_attempt_at < $3 or a.attempts + 1 < $4::int then '-infinity'
         else $2::timestamptz + interval '1 millisecond'
           * least($6::float8, $5::float8 * power(2, least(a.attempts + 1 - $4, 30)))
         end
     where a.blocked_until <= $2`,
    [
      subject,
      sqlTime(nowMs),
      sqlTime(nowMs - limit.forgetMs),
      limit.free,
      limit.waitMs,
      limit.waitMaxMs,
    ],
  );
  if (rowCount === 1) return undefined;
  const { rows } = await db.query<{ freeAtMs: number }>(
    'select blocked_until as "freeAtMs" from auth_throttles where subject = $1',
    [subject],
  );
  return rows[0]?.freeAtMs ?? nowMs;
}

/** The try was a good one: it does not count. */
export async function refundAttempt(db: Queryable, subject: Buffer): Promise<void> {
  await db.query(
    `update auth_throttles set attempts = greatest(attempts - 1, 0), blocked_until = '-infinity'
     where subject = $1`,
    [subject],
  );
}

export async function resetAttempts(db: Queryable, subject: Buffer): Promise<void> {
  await db.query('delete from auth_throttles where subject = $1', [subject]);
}

export async function deleteOldAttempts(db: Queryable, beforeMs: number): Promise<void> {
  await db.query('delete from auth_throttles where last_attempt_at < $1', [sqlTime(beforeMs)]);
}
