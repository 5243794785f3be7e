import { tryLockForTransaction } from '../db/advisory-lock.ts';
import { LOCKS } from '../db/lock-numbers.ts';
import type { Queryable } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import type { BrakeCounts } from '../quotas/brake.ts';

/**
 * What became of live mail since the start of the window, by workspace; only those with enough recipients.
 * Of a workspace whose brake was released, only whole hours after the release count.
 */
export async function readBrakeCounts(
  db: Queryable,
  window: { fromMs: number; recipientsMin: number },
): Promise<(BrakeCounts & { workspaceId: string })[]> {
  const { rows } = await db.query<BrakeCounts & { workspaceId: string }>(
    `with sums as (
       select s.workspace_id,
         coalesce(sum(delivered), 0)::float8 as delivered,
         coalesce(sum(bounced), 0)::float8 as bounced,
         coalesce(sum(complained), 0)::float8 as complained,
         (coalesce(sum(bounced), 0) + coalesce(sum(failed), 0) + coalesce(sum(expired), 0)
           -- A late bounce was counted as delivered first (query-stats.ts).
           + greatest(0, coalesce(sum(delivered), 0) - coalesce(sum(bounced_later), 0)))::float8 as ended
       from statistics_outcomes s left join brakes b on b.workspace_id = s.workspace_id
       where s.mode = 'live' and s.at >= $1
         and (b.judged_from is null or date_trunc('hour', s.at, 'UTC') >= b.judged_from)
       group by s.workspace_id)
     select workspace_id as "workspaceId", delivered, bounced, complained, ended from sums
     where ended >= $2 or delivered >= $2`,
    [sqlTime(window.fromMs), window.recipientsMin],
  );
  return rows;
}

/** The lock under which one node at a time checks the brakes. False if another node holds it. */
export function lockBrakes(db: Queryable): Promise<boolean> {
  return tryLockForTransaction(db, LOCKS.brakes);
}
