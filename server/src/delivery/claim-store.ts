import type { Mode } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type PoolClient } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import type { Bounce, SmtpFacts } from '../events/event-types.ts';
import { uuidFloor, uuidTime } from '../lib/ids.ts';
import type { FoundQueue, Queue } from './due-queues.ts';

/**
 * Claiming: from the rows that are due, a fair share for this node, under a lease. A walk goes from
 * queue to queue (workspace and lane) and tells when each will have something due; a claim takes a
 * few rows of each that has.
 *
 * The pool must be the engine's own. Its plans are kept for a long time while tables grow from
 * nothing to millions of rows, and a plan that was right for an empty table (read it all, then sort)
 * would be ruinous an hour later. Every statement here is a few look-ups by key, in the order that
 * an index has anyway, so these sessions know nothing else. For the same reason a bound on ids, which
 * spares partitions, stands only in lateral subqueries with a limit: in a join or an update the
 * planner would read the whole range and compare it with every key. Nor does any statement ask with
 * `exists` in its list of columns: the planner may answer that by reading all that is due once and
 * hashing it, and does so when a flood comes after its figures were taken. And a plan is made once:
 * made for each call, it took longer than what it was for.
 */
export function disableNonIndexPlans(pool: Pool): void {
  pool.on('connect', (client) => {
    client.query(PLANNER_SETTINGS).catch(() => {});
  });
}

const PLANNER_SETTINGS = [
  'seqscan',
  'material',
  'bitmapscan',
  'hashjoin',
  'mergejoin',
  'sort',
  'incremental_sort',
]
  .map((way) => `set enable_${way} = off`)
  .concat('set plan_cache_mode = force_generic_plan')
  .join('; ');

export const SCAN_START: Queue = {
  workspaceId: '00000000-0000-0000-0000-000000000000',
  lane: -1,
};

export interface ScanRequest {
  /** The walk goes on behind this queue. */
  after: Queue;
  queuesMax: number;
  /** Partitions outside of it are left out. */
  range: IdRange;
}

export interface ClaimRequest {
  queues: readonly Queue[];
  perQueueMax: number;
  nowMs: number;
  lease: number;
  leaseEndsAtMs: number;
  range: IdRange;
  /** The length of a run of tries, to know when a repeated run began. */
  retryWindowMs: number;
}

export interface ClaimedRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  lane: number;
  recipient: string;
  recipient_key: string;
  lease: number;
  attempts: number;
  expires_at: number;
  has_ttl: boolean;
  run_started_at: number;
  dated_at: number | null;
  tags: string[] | null;
  metadata: Record<string, string> | null;
  suppression_reason: string | null;
  /** Of the last try; only read when the row has expired. */
  bounce: Bounce | null;
  smtp: SmtpFacts | null;
}

const UNFINISHED = `('scheduled', 'queued', 'deferred')`;

/**
 * A loose index scan: from one (workspace, lane) that has unfinished rows the index leads to the
 * next, and to the first of its rows that will be due. So a tenant with a million rows waiting costs
 * what a tenant with one does, and none can hide another. Rejected: `order by due_at` over all (the
 * oldest flood wins), and `distinct` (reads every waiting row).
 */
export async function scanQueues(pool: Pool, request: ScanRequest): Promise<FoundQueue[]> {
  const { rows } = await pool.query<FoundQueue>({
    name: 'delivery-walk',
    text: `with recursive queues (workspace_id, lane, due_at, step) as (
        (select workspace_id, lane, due_at, 1 from deliveries
          where status in ${UNFINISHED} and message_id between $4 and $5
            and (workspace_id, lane) > ($1::uuid, $2::smallint)
          order by workspace_id, lane, due_at limit 1)
      union all
        select n.workspace_id, n.lane, n.due_at, q.step + 1
          from queues q cross join lateral (
            select d.workspace_id, d.lane, d.due_at from deliveries d
             where d.status in ${UNFINISHED} and d.message_id between $4 and $5
               and (d.workspace_id, d.lane) > (q.workspace_id, q.lane)
             order by d.workspace_id, d.lane, d.due_at limit 1) n
         where q.step < $3::int)
      select workspace_id as "workspaceId", lane, due_at as "dueAtMs" from queues`,
    values: [
      request.after.workspaceId,
      request.after.lane,
      request.queuesMax,
      request.range.oldest,
      request.range.newest,
    ],
  });
  return rows;
}

/**
 * Locking and updating are two statements on purpose. In one, PostgreSQL 18.4 dies of a segmentation
 * fault when a row that it wants to lock has just been changed by another claim: four claimers at
 * once brought it down within seconds, and the same two statements apart never.
 */
export async function claimDue(pool: Pool, request: ClaimRequest): Promise<ClaimedRow[]> {
  return inTransaction(pool, async (client) => {
    const picked = await lockDue(client, request);
    return picked.length > 0 ? leaseRows(client, picked, request) : [];
  });
}

interface PickedRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  lease: number | null;
}

async function lockDue(client: PoolClient, request: ClaimRequest): Promise<PickedRow[]> {
  const { rows } = await client.query<PickedRow>({
    name: 'delivery-lock',
    text: `select d.* from json_to_recordset($1::json) as q("workspaceId" uuid, lane smallint)
       cross join lateral (
         select d.workspace_id, d.mode, d.message_id, d.ordinal, d.lease from deliveries d
          where d.status in ${UNFINISHED} and d.workspace_id = q."workspaceId" and d.lane = q.lane
            and d.due_at <= $2::timestamptz and d.message_id between $3 and $4
          order by d.due_at limit $5::int for update skip locked) d`,
    values: [
      JSON.stringify(request.queues.map(({ workspaceId, lane }) => ({ workspaceId, lane }))),
      sqlTime(request.nowMs),
      request.range.oldest,
      request.range.newest,
      request.perQueueMax,
    ],
  });
  return rows;
}

/** A row that still carries a lease was lost by its holder: see lease.ts for the count. */
async function leaseRows(
  client: PoolClient,
  picked: PickedRow[],
  request: ClaimRequest,
): Promise<ClaimedRow[]> {
  const { rows } = await client.query<ClaimedRow>({
    name: 'delivery-lease',
    text: `with claimed as (
        update deliveries d
           set status = 'queued', due_at = $2::timestamptz,
               lease = $3::bigint + case when p.lease is null then 0 else greatest(1, p.lease & 7) end
          from json_to_recordset($1::json)
               as p(workspace_id uuid, mode mode, message_id uuid, ordinal smallint, lease bigint)
         where d.workspace_id = p.workspace_id and d.mode = p.mode
           and d.message_id = p.message_id and d.ordinal = p.ordinal
     returning d.*)
      select c.workspace_id, c.mode, c.message_id, c.ordinal, c.lane, c.recipient, c.recipient_key,
             c.lease, c.attempts, c.expires_at, m.ttl_seconds is not null as has_ttl,
             case when c.runs = 1 then coalesce(m.scheduled_at, m.created_at)
                  else c.expires_at - least($6::interval, make_interval(secs => m.ttl_seconds))
                  end as run_started_at,
             greatest(m.created_at, m.scheduled_at) as dated_at, m.tags, m.metadata, s.reason as suppression_reason,
             case when c.expires_at <= $7 then c.bounce end as bounce,
             case when c.expires_at <= $7 then c.smtp end as smtp
        from claimed c
        left join lateral (
          select created_at, scheduled_at, tags, metadata, ttl_seconds from messages
           where workspace_id = c.workspace_id and mode = c.mode and id = c.message_id
             and id between $4 and $5 limit 1) m on true
        left join lateral (
          select reason from suppressions
           where workspace_id = c.workspace_id and mode = c.mode
             and key in (c.recipient_key, '@' || regexp_replace(c.recipient_key, '^.*@', ''))
             and (expires_at is null or expires_at > $7::timestamptz) limit 1) s on true`,
    values: [
      JSON.stringify(picked),
      sqlTime(request.leaseEndsAtMs),
      request.lease,
      request.range.oldest,
      request.range.newest,
      `${request.retryWindowMs} milliseconds`,
      sqlTime(request.nowMs),
    ],
  });
  return rows;
}

/** Ids between which everything unfinished lies. */
export interface IdRange {
  oldest: string;
  newest: string;
}

/**
 * Each queue of a claim is looked up in every partition of the history and of the weeks ahead;
 * leaving out the finished and the empty ones makes a claim ten times cheaper. Partitions are read
 * in order, and the first unfinished row is enough. Ids from the future are those of a node whose
 * clock ran ahead, or of this one before its clock was set back: rare, but mail all the same.
 */
export async function findIdRange(pool: Pool, nowMs: number): Promise<IdRange> {
  const aheadMs = nowMs + 8 * DAY_MS;
  const { rows } = await pool.query<{ oldest: string | null; ahead: boolean }>({
    name: 'delivery-range',
    text: `select
        (select message_id from deliveries where status in ${UNFINISHED} limit 1) as oldest,
        exists (select from deliveries where status in ${UNFINISHED} and message_id > $1) as ahead`,
    values: [uuidFloor(aheadMs)],
  });
  const [found] = rows;
  const oldestMs = found?.oldest ? uuidTime(found.oldest) : nowMs;
  return {
    // The row stands anywhere in its partition, and a partition holds at most a week.
    oldest: uuidFloor(Math.min(oldestMs, nowMs) - 8 * DAY_MS),
    newest: found?.ahead ? LAST_ID : uuidFloor(aheadMs),
  };
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const DAY_MS = 86_400_000;
