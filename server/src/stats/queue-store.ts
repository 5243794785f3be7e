import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';

/** The queue at this moment, of one workspace or of all workspaces. */
export interface QueueSnapshot {
  queued: number;
  deferred: number;
  scheduled: number;
  /** Since when the oldest due delivery has been waiting; null when none is due. */
  oldestDueAtMs: number | null;
  /** There are more deliveries than were counted. */
  more: boolean;
}

/** The count is bounded: it must not become more expensive as the queue grows. */
const COUNTED_MAX = 10_000;

export async function readQueue(
  pool: Pool,
  scope: { workspaceId: string; mode: Mode } | 'all' | 'all_live',
  nowMs: number,
): Promise<QueueSnapshot> {
  const isOfAll = typeof scope === 'string';
  const narrowed = isOfAll ? '' : 'workspace_id = $3 and mode = $4 and';
  const live = scope === 'all_live' ? "mode = 'live' and" : '';
  const { rows } = await pool.query<{ status: string; n: number; oldest: number | null }>(
    // A leased delivery is due at the end of its lease, so it does not count as late.
    `select status, count(*)::int as n, min(due_at) filter (where due_at <= $1) as oldest
       from (select status, due_at from deliveries
              where ${narrowed} ${live} status in ('scheduled', 'queued', 'deferred') limit $2) waiting
      group by status`,
    [sqlTime(nowMs), COUNTED_MAX, ...(isOfAll ? [] : [scope.workspaceId, scope.mode])],
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

/** Queued live mail from one workspace to one receiving domain. */
export interface QueueGroup {
  workspaceId: string;
  workspaceName: string;
  domain: string;
  queued: number;
  deferred: number;
  scheduled: number;
  /** When the first of it is or was due. */
  dueAtMs: number;
  /** The most common reason among the deferred; null when none is deferred. */
  reason: string | null;
}

const GROUPS_MAX = 100;

/** Largest groups first. When the queue is larger than the limit, the result is a sample. */
export async function listQueueByDomain(
  pool: Pool,
  workspaceId: string | undefined,
): Promise<{ waiting: QueueGroup[]; more: boolean }> {
  const { rows } = await pool.query<QueueGroup & { counted: number }>(
    // Schema-qualified, because we have a type of the same name.
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
