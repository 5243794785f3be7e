import type { Mode } from '../accounts/mode.ts';
import type { Pool } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';

/** What of a workspace has not left yet, at this moment. */
export interface QueueNow {
  queued: number;
  deferred: number;
  scheduled: number;
  /** Since when the one that waits longest could have left; null when nothing has to wait. */
  oldestDueAtMs: number | null;
  /** There is more than was counted. */
  more: boolean;
}

/** More is as bad as much: a count must not cost more the worse it gets. */
const COUNTED_MAX = 10_000;

export async function readQueue(
  pool: Pool,
  scope: { workspaceId: string; mode: Mode },
  nowMs: number,
): Promise<QueueNow> {
  const { rows } = await pool.query<{ status: string; n: number; oldest: number | null }>(
    // What a node has in hand is due at the end of its lease, and so does not count as late.
    `select status, count(*)::int as n, min(due_at) filter (where due_at <= $3) as oldest
       from (select status, due_at from deliveries
              where workspace_id = $1 and mode = $2
                and status in ('scheduled', 'queued', 'deferred') limit $4) waiting
      group by status`,
    [scope.workspaceId, scope.mode, sqlTime(nowMs), COUNTED_MAX],
  );
  const of = (status: string): number => rows.find((row) => row.status === status)?.n ?? 0;
  const late = rows.flatMap(({ oldest }) => (oldest === null ? [] : [oldest]));
  return {
    queued: of('queued'),
    deferred: of('deferred'),
    scheduled: of('scheduled'),
    oldestDueAtMs: late.length === 0 ? null : Math.min(...late),
    more: rows.reduce((sum, { n }) => sum + n, 0) === COUNTED_MAX,
  };
}
