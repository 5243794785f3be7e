import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';

/** What has not left yet at this moment, of a workspace or of all. */
export interface QueueSnapshot {
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
): Promise<QueueSnapshot> {
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

/** Live mail of one workspace to one receiving domain that has not left. */
export interface QueueGroup {
  workspaceId: string;
  workspaceName: string;
  domain: string;
  queued: number;
  deferred: number;
  scheduled: number;
  /** When the first of it is tried next, or was to be. */
  dueAtMs: number;
  /** What most of the deferred were told; null where nothing is deferred. */
  reason: string | null;
}

const GROUPS_MAX = 100;

/** Where most waits comes first. Of more than is counted, it is a sample. */
export async function listQueueByDomain(
  pool: Pool,
  workspaceId: string | undefined,
): Promise<{ waiting: QueueGroup[]; more: boolean }> {
  const { rows } = await pool.query<QueueGroup & { counted: number }>(
    // The most frequent value; a type of ours has the same name.
    `select d.workspace_id as "workspaceId", w.name as "workspaceName", d.domain,
        count(*) filter (where d.status = 'queued')::int as queued,
        count(*) filter (where d.status = 'deferred')::int as deferred,
        count(*) filter (where d.status = 'scheduled')::int as scheduled,
        min(d.due_at) as "dueAtMs",
        pg_catalog.mode() within group (order by d.reason) as reason,
        (sum(count(*)) over ())::int as counted
       from (select workspace_id, split_part(recipient_key, '@', -1) as domain, status, due_at,
                case when status = 'deferred' then bounce->>'reason' end as reason
               from deliveries
              where mode = 'live' and status in ('scheduled', 'queued', 'deferred')
                and ($1::uuid is null or workspace_id = $1)
              limit $2) d
       join workspaces w on w.id = d.workspace_id
      group by d.workspace_id, w.name, d.domain
      order by count(*) desc, w.name, d.domain limit $3`,
    [workspaceId ?? null, COUNTED_MAX, GROUPS_MAX],
  );
  return {
    waiting: rows.map(({ counted: _, ...group }) => group),
    more: (rows[0]?.counted ?? 0) === COUNTED_MAX,
  };
}
