import { tryLockForTransaction } from '../db/advisory-lock.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { LOCKS } from '../db/lock-numbers.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { BrakeCounts } from '../quotas/brake.ts';
import { troubledWorkspaces } from './troubled-workspaces.ts';

export interface BrakeWindow {
  fromMs: number;
  recipientsMin: number;
  /** Fewer than these cannot matter, unless the workspace has a policy or a brake; null if none do. */
  bouncedMin: number | null;
  complainedMin: number | null;
}

/**
 * What became of live mail since the start of the window, by workspace; only of those with trouble or a
 * row in `brakes`, and with enough recipients. Of a workspace whose brake was released, only whole hours
 * after the release count.
 */
export async function readBrakeCounts(
  db: Queryable,
  window: BrakeWindow,
): Promise<(BrakeCounts & { workspaceId: string })[]> {
  const { rows } = await db.query<BrakeCounts & { workspaceId: string }>(
    `with suspects as materialized (
       ${troubledWorkspaces('$1', '$3', '$4')}
       union select workspace_id from brakes),
     sums as (
       select w.workspace_id,
         coalesce(sum(delivered), 0)::float8 as delivered,
         coalesce(sum(bounced), 0)::float8 as bounced,
         coalesce(sum(complained), 0)::float8 as complained,
         (coalesce(sum(bounced), 0) + coalesce(sum(failed), 0) + coalesce(sum(expired), 0)
           -- A late bounce was counted as delivered first (query-stats.ts).
           + greatest(0, coalesce(sum(delivered), 0) - coalesce(sum(bounced_later), 0)))::float8 as ended
       from suspects w left join brakes b on b.workspace_id = w.workspace_id
       cross join lateral (
         -- The offset keeps the planner from joining, which would read the counts of all workspaces.
         select * from statistics_outcomes o
          where o.workspace_id = w.workspace_id and o.mode = 'live' and o.at >= $1 offset 0) s
       where b.judged_from is null or date_trunc('hour', s.at, 'UTC') >= b.judged_from
       group by w.workspace_id)
     select workspace_id as "workspaceId", delivered, bounced, complained, ended from sums
     where ended >= $2 or delivered >= $2`,
    [sqlTime(window.fromMs), window.recipientsMin, window.bouncedMin, window.complainedMin],
  );
  return rows;
}

/** The lock under which one node at a time checks the brakes. False if another node holds it. */
export function lockBrakes(db: Queryable): Promise<boolean> {
  return tryLockForTransaction(db, LOCKS.brakes);
}
