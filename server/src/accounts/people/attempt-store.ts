import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';

export interface AttemptLimit {
  /** The number of attempts without a wait. */
  free: number;
  /** The first wait, doubled with every further attempt up to the maximum. */
  waitMs: number;
  waitMaxMs: number;
  /** After this time without an attempt the count is reset. */
  forgetMs: number;
}

/**
 * Counts an attempt before it is made, in one statement, so that concurrent attempts are all
 * counted. Returns undefined when it is allowed, or else the time of the next allowed attempt. No
 * wait is stored as -infinity instead of the current time, because concurrent requests do not
 * agree on the current time.
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

/** A successful attempt does not count. */
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
