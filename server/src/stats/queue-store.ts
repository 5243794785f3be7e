import type { Mode } from '../accounts/mode.ts';
import type { Pool } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';

/** What has not left yet at this moment, of a workspace or of all. */
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
  scope: { workspaceId: string; mode: Mode } | 'all',
  nowMs: number,
): Promise<QueueNow> {
  const narrowed = scope === 'all' ? '' : 'workspace_id = $3 and mode = $4 and';
  const { rows } = await pool.query<{ status: string; n: number; oldest: number | null }>(
    // What a node has in hand is due at the end of its lease, and so does not count as late.
    `select status, count(*)::int as n, min(due_at) filter (where due_at <= $1) as oldest
       from (select status, due_at from deliveries
              where ${narrowed} status in ('scheduled', 'queued', 'deferred') limit $2) waiting
      group by status`,
    [sqlTime(nowMs), COUNTED_MAX, ...(scope === 'all' ? [] : [scope.workspaceId, scope.mode])],
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
