import type { Pool, PoolClient } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { DeliveriesRow } from '../../db/schema/tables.ts';
import type { Bounce, SmtpFacts } from '../../events/event-types.ts';
import { LAST_UUID, uuidFloor, uuidTime } from '../../lib/ids.ts';
import type { ClaimableQueue, FoundQueue } from '../../queue/due-queues.ts';
import type { LeaseTerms } from '../../queue/lease.ts';
import { lockThenChange } from '../../queue/lease-store.ts';

/**
 * Claims due rows for this node under a lease. A scan goes from queue to queue (workspace and shard)
 * and returns when each will have a row due; a claim takes a few rows of each queue that has.
 *
 * A bound on ids, which prunes partitions, appears only in lateral subqueries with a limit: in a join
 * or an update the planner would read the whole range and compare it with every key. No statement has
 * `exists` in its column list either: the planner may answer that by hashing all due rows, and does
 * so when a flood arrives after its statistics were taken.
 */

/** The deliveries of a workspace to a group of receiving domains. */
export interface Queue {
  workspaceId: string;
  shard: number;
}

const SCAN_START: Queue = {
  workspaceId: '00000000-0000-0000-0000-000000000000',
  shard: -1,
};

export interface ScanRequest {
  /** The scan continues after this queue; undefined at the start. */
  after: Queue | undefined;
  queuesMax: number;
  /** Partitions outside this range are pruned. */
  range: IdRange;
}

export interface ClaimRequest {
  queues: readonly ClaimableQueue<Queue>[];
  terms: LeaseTerms;
  range: IdRange;
  /** The length of a delivery cycle, to compute when a repeated cycle began. */
  retryWindowMs: number;
}

type RowKey = Pick<DeliveriesRow, 'workspace_id' | 'mode' | 'message_id' | 'ordinal'>;

export interface ClaimedRow
  extends RowKey,
    Pick<DeliveriesRow, 'shard' | 'recipient' | 'recipient_key' | 'attempts' | 'expires_at'> {
  is_blind_copy: boolean;
  lease: number;
  has_ttl: boolean;
  run_started_at: number;
  dated_at: number | null;
  stream: string | null;
  /** The route of the stream as it is now, so that a change applies to mail that waits. */
  route: string | null;
  tags: string[] | null;
  metadata: Record<string, string> | null;
  suppression_reason: string | null;
  /** From the last attempt; read only when the row has expired. */
  bounce: Bounce | null;
  smtp: SmtpFacts | null;
}

const UNFINISHED = `('scheduled', 'queued', 'deferred')`;

/**
 * A loose index scan: from one (workspace, shard) with unfinished rows the index leads to the next,
 * and to the first of its rows that will be due. A tenant with a million queued rows costs as much
 * as a tenant with one, and cannot hide another. Rejected: `order by due_at` over all rows (the
 * oldest flood wins), and `distinct` (reads every queued row).
 */
export async function scanQueues(pool: Pool, request: ScanRequest): Promise<FoundQueue<Queue>[]> {
  const { after = SCAN_START } = request;
  const { rows } = await pool.query<FoundQueue<Queue>>({
    name: 'delivery-scan',
    text: `with recursive queues (workspace_id, shard, due_at, step) as (
        (select workspace_id, shard, due_at, 1 from deliveries
          where status in ${UNFINISHED} and message_id between $4 and $5
            and (workspace_id, shard) > ($1::uuid, $2::smallint)
          order by workspace_id, shard, due_at limit 1)
      union all
        select n.workspace_id, n.shard, n.due_at, q.step + 1
          from queues q cross join lateral (
            select d.workspace_id, d.shard, d.due_at from deliveries d
             where d.status in ${UNFINISHED} and d.message_id between $4 and $5
               and (d.workspace_id, d.shard) > (q.workspace_id, q.shard)
             order by d.workspace_id, d.shard, d.due_at limit 1) n
         where q.step < $3::int)
      select workspace_id as "workspaceId", shard, due_at as "dueAtMs" from queues`,
    values: [
      after.workspaceId,
      after.shard,
      request.queuesMax,
      request.range.oldest,
      request.range.newest,
    ],
  });
  return rows;
}

export function claimDue(pool: Pool, request: ClaimRequest): Promise<ClaimedRow[]> {
  return lockThenChange(
    pool,
    (client) => lockDue(client, request),
    (client, picked) => leaseRows(client, picked, request),
  );
}

type PickedRow = RowKey & Pick<DeliveriesRow, 'lease'>;

async function lockDue(client: PoolClient, request: ClaimRequest): Promise<PickedRow[]> {
  const { rows } = await client.query<PickedRow>({
    name: 'delivery-lock',
    text: `select d.* from json_to_recordset($1::json) as q("workspaceId" uuid, shard smallint, max int)
       cross join lateral (
         select d.workspace_id, d.mode, d.message_id, d.ordinal, d.lease from deliveries d
          where d.status in ${UNFINISHED} and d.workspace_id = q."workspaceId" and d.shard = q.shard
            and d.due_at <= $2::timestamptz and d.message_id between $3 and $4
          order by d.due_at limit q.max for update skip locked) d`,
    values: [
      JSON.stringify(request.queues),
      sqlTime(request.terms.nowMs),
      request.range.oldest,
      request.range.newest,
    ],
  });
  return rows;
}

/** A row that still carries a lease was lost by its holder; lease-store.ts explains the counter. */
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
      select c.workspace_id, c.mode, c.message_id, c.ordinal, c.shard, c.recipient, c.recipient_key,
             c.kind = 'bcc' as is_blind_copy, c.lease, c.attempts, c.expires_at, m.ttl_seconds is not null as has_ttl,
             case when c.delivery_cycles = 1 then coalesce(m.scheduled_at, m.created_at)
                  else c.expires_at - least($6::interval, make_interval(secs => m.ttl_seconds))
                  end as run_started_at,
             greatest(m.created_at, m.scheduled_at) as dated_at, m.stream, m.tags, m.metadata,
             (select r.route from streams r
               where r.workspace_id = c.workspace_id and r.key = m.stream) as route,
             s.reason as suppression_reason,
             case when c.expires_at <= $7 then c.bounce end as bounce,
             case when c.expires_at <= $7 then c.smtp end as smtp
        from claimed c
        left join lateral (
          select created_at, scheduled_at, stream, tags, metadata, ttl_seconds from messages
           where workspace_id = c.workspace_id and mode = c.mode and id = c.message_id
             and id between $4 and $5 limit 1) m on true
        left join lateral (
          select reason from suppressions
           where workspace_id = c.workspace_id and mode = c.mode
             and key in (c.recipient_key, '@' || regexp_replace(c.recipient_key, '^.*@', ''))
             and (stream = '' or stream = m.stream)
             and (expires_at is null or expires_at > $7::timestamptz) limit 1) s on true`,
    values: [
      JSON.stringify(picked),
      sqlTime(request.terms.leaseEndsAtMs),
      request.terms.lease,
      request.range.oldest,
      request.range.newest,
      `${request.retryWindowMs} milliseconds`,
      sqlTime(request.terms.nowMs),
    ],
  });
  return rows;
}

/** A range of ids that contains all unfinished rows. */
export interface IdRange {
  oldest: string;
  newest: string;
}

/**
 * Each queue of a claim is looked up in every partition of the past and of the weeks ahead; pruning
 * finished and empty partitions makes a claim ten times cheaper. Partitions are read in order, so
 * the first unfinished row is enough. Ids from the future come from a node whose clock ran ahead,
 * or from this one before its clock was set back: rare, but such mail must be delivered too.
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
    // The row may be anywhere in its partition, and a partition covers at most a week.
    oldest: uuidFloor(Math.min(oldestMs, nowMs) - 8 * DAY_MS),
    newest: found?.ahead ? LAST_UUID : uuidFloor(aheadMs),
  };
}

const DAY_MS = 86_400_000;
