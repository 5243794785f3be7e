import type { Mode } from '../accounts/mode.ts';
import { uuidFloor, uuidTime } from '../base/ids.ts';
import type { Bounce, SmtpFacts } from '../events/event-types.ts';
import { inTransaction, type Pool, type PoolClient } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';

/**
 * Claiming: from the rows that are due, a fair share for this node, under a lease. A claim walks from
 * queue to queue (workspace and lane) and then takes a few rows of each that has something due.
 *
 * The pool must be the engine's own. Its plans are kept for a long time while tables grow from
 * nothing to millions of rows, and a plan that was right for an empty table (read it all, then sort)
 * would be ruinous an hour later. Every statement here is a few look-ups by key, in the order that
 * an index has anyway, so these sessions know nothing else. For the same reason a bound on ids, which
 * spares partitions, stands only in lateral subqueries with a limit: in a join or an update the
 * planner would read the whole range and compare it with every key.
 */
export function useIndexesOnly(pool: Pool): void {
  pool.on('connect', (client) => {
    client.query(INDEXES_ONLY).catch(() => {});
  });
}

const INDEXES_ONLY = [
  'seqscan',
  'material',
  'bitmapscan',
  'hashjoin',
  'mergejoin',
  'sort',
  'incremental_sort',
]
  .map((way) => `set enable_${way} = off`)
  .join('; ');

/** A place in the round of (workspace, lane): the next claim goes on behind it. */
export interface ClaimCursor {
  workspaceId: string;
  lane: number;
}

export const ROUND_START: ClaimCursor = {
  workspaceId: '00000000-0000-0000-0000-000000000000',
  lane: -1,
};

export interface ClaimRequest {
  after: ClaimCursor;
  nowMs: number;
  lease: number;
  leaseEndsAtMs: number;
  /** Workspaces that have enough in memory already. */
  skipWorkspaces: string[];
  /** How many (workspace, lane) to visit, how many rows to take of each, and in all. */
  queuesMax: number;
  perQueueMax: number;
  rowsMax: number;
  /** Partitions outside of it are left out. */
  range: IdRange;
  /** The length of a run of tries, to know when a repeated run began. */
  windowMs: number;
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
  run_started_at: number;
  dated_at: number | null;
  tags: string[] | null;
  metadata: Record<string, string> | null;
  suppression_reason: string | null;
  /** Of the last try; only read when the row has expired. */
  bounce: Bounce | null;
  smtp: SmtpFacts | null;
}

export interface Claimed {
  rows: ClaimedRow[];
  /** The last queue looked at; undefined when the round has come to its end. */
  cursor: ClaimCursor | undefined;
}

const WAITING = `('scheduled', 'queued', 'deferred')`;

export async function claimDue(pool: Pool, request: ClaimRequest): Promise<Claimed> {
  const queues = await walkQueues(pool, request);
  const due = queues.filter((queue) => queue.due);
  const rows = due.length > 0 ? await takeDue(pool, due, request) : [];
  const last = rows.at(-1);
  // A claim that was cut off by its room goes on where it stopped, not where it might have come to.
  if (last && rows.length >= request.rowsMax) {
    return { rows, cursor: { workspaceId: last.workspace_id, lane: last.lane } };
  }
  const end = queues.length < request.queuesMax ? undefined : queues.at(-1);
  return { rows, cursor: end && { workspaceId: end.workspace_id, lane: end.lane } };
}

interface QueueRow {
  workspace_id: string;
  lane: number;
  due: boolean;
}

/**
 * A loose index scan: from one (workspace, lane) that has unfinished rows the index leads to the
 * next. So a tenant with a million rows waiting costs what a tenant with one does, and none can hide
 * another. Rejected: `order by due_at` over all (the oldest flood wins), and `distinct` (reads every
 * waiting row).
 */
async function walkQueues(pool: Pool, request: ClaimRequest): Promise<QueueRow[]> {
  const { rows } = await pool.query<QueueRow>({
    name: 'delivery-walk',
    text: `with recursive queues (workspace_id, lane, step) as (
        (select workspace_id, lane, 1 from deliveries
          where status in ${WAITING} and message_id between $6 and $7
            and (workspace_id, lane) > ($1::uuid, $2::smallint)
          order by workspace_id, lane limit 1)
      union all
        select n.workspace_id, n.lane, q.step + 1
          from queues q cross join lateral (
            select d.workspace_id, d.lane from deliveries d
             where d.status in ${WAITING} and d.message_id between $6 and $7
               and (d.workspace_id, d.lane) > (q.workspace_id,
                   case when q.workspace_id = any($3::uuid[]) then 32767::smallint else q.lane end)
             order by d.workspace_id, d.lane limit 1) n
         where q.step < $4::int)
      select q.workspace_id, q.lane,
             q.workspace_id <> all($3::uuid[]) and exists (
               select from deliveries d
                where d.status in ${WAITING} and d.message_id between $6 and $7
                  and d.workspace_id = q.workspace_id and d.lane = q.lane
                  and d.due_at <= $5::timestamptz) as due
        from queues q`,
    values: [
      request.after.workspaceId,
      request.after.lane,
      request.skipWorkspaces,
      request.queuesMax,
      sqlTime(request.nowMs),
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
async function takeDue(pool: Pool, due: QueueRow[], request: ClaimRequest): Promise<ClaimedRow[]> {
  return inTransaction(pool, async (client) => {
    const picked = await lockDue(client, due, request);
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

async function lockDue(
  client: PoolClient,
  due: QueueRow[],
  request: ClaimRequest,
): Promise<PickedRow[]> {
  const { rows } = await client.query<PickedRow>({
    name: 'delivery-lock',
    text: `select d.* from json_to_recordset($1::json) as q(workspace_id uuid, lane smallint)
       cross join lateral (
         select d.workspace_id, d.mode, d.message_id, d.ordinal, d.lease from deliveries d
          where d.status in ${WAITING} and d.workspace_id = q.workspace_id and d.lane = q.lane
            and d.due_at <= $2::timestamptz and d.message_id between $3 and $4
          order by d.due_at limit $5::int for update skip locked) d
      limit $6::int`,
    values: [
      JSON.stringify(due),
      sqlTime(request.nowMs),
      request.range.oldest,
      request.range.newest,
      request.perQueueMax,
      request.rowsMax,
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
             c.lease, c.attempts, c.expires_at,
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
      `${request.windowMs} milliseconds`,
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
export async function findRange(pool: Pool, nowMs: number): Promise<IdRange> {
  const aheadMs = nowMs + 8 * DAY_MS;
  const { rows } = await pool.query<{ oldest: string | null; ahead: boolean }>({
    name: 'delivery-range',
    text: `select
        (select message_id from deliveries where status in ${WAITING} limit 1) as oldest,
        exists (select from deliveries where status in ${WAITING} and message_id > $1) as ahead`,
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
