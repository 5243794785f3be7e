import type { Mode } from '../accounts/mode.ts';
import { uuidFloor, uuidTime } from '../base/ids.ts';
import type { Bounce, SmtpFacts } from '../events/event-types.ts';
import type { Pool } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';
import type { Delivery } from './delivery.ts';

/**
 * The queue in the database: claiming what is due, keeping leases, giving them back. What is read
 * for sending stands in content-store.ts, what is written of results in results-store.ts.
 *
 * The pool must be the engine's own. Its plans are kept for a long time while tables grow from
 * nothing to millions of rows, and a plan that was right for an empty table (read it all, then sort)
 * would be ruinous an hour later. Every statement here is a few look-ups by key, in the order that
 * an index has anyway, so these sessions know nothing else.
 */
export function useIndexesOnly(pool: Pool): void {
  pool.on('connect', (client) => {
    client.query(INDEXES_ONLY).catch(() => {});
  });
}

const INDEXES_ONLY = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'sort', 'incremental_sort']
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
  /** No unfinished message is older: partitions before it are left out. */
  oldestId: string;
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
  created_at: number | null;
  tags: string[] | null;
  metadata: Record<string, string> | null;
  suppression_reason: string | null;
  /** Of the last try; only read when the row has expired. */
  bounce: Bounce | null;
  smtp: SmtpFacts | null;
}

export interface Claimed {
  rows: ClaimedRow[];
  /** The last queue visited; undefined when the round has come to its end. */
  cursor: ClaimCursor | undefined;
}

const WAITING = `('scheduled', 'queued', 'deferred')`;

/**
 * A loose index scan: from one (workspace, lane) that has unfinished rows the index leads to the
 * next, and of each at most a few due rows are taken. So a tenant with a million rows waiting costs
 * what a tenant with one does, and none can hide another. Rejected: `order by due_at` over all (the
 * oldest flood wins), and `distinct` (reads every waiting row).
 *
 * A row that still carries a lease was lost by its holder: see lease.ts for the count.
 */
const CLAIM = `
with recursive queues (workspace_id, lane, step) as (
    (select workspace_id, lane, 1 from deliveries
      where status in ${WAITING} and message_id between $11 and $12
        and (workspace_id, lane) > ($1::uuid, $2::smallint)
      order by workspace_id, lane limit 1)
  union all
    select n.workspace_id, n.lane, q.step + 1
      from queues q cross join lateral (
        select d.workspace_id, d.lane from deliveries d
         where d.status in ${WAITING} and d.message_id between $11 and $12
           and (d.workspace_id, d.lane) > (q.workspace_id,
               case when q.workspace_id = any($3::uuid[]) then 32767::smallint else q.lane end)
         order by d.workspace_id, d.lane limit 1) n
     where q.step < $4::int),
picked as materialized (
    select d.* from queues q cross join lateral (
        select d.workspace_id, d.mode, d.message_id, d.ordinal, d.lease from deliveries d
         where d.status in ${WAITING} and d.workspace_id = q.workspace_id and d.lane = q.lane
           and d.due_at <= $5::timestamptz and d.message_id between $11 and $12
         order by d.due_at limit $6::int for update skip locked) d
     where q.workspace_id <> all($3::uuid[])
     limit $7::int),
claimed as (
    update deliveries d
       set status = 'queued', due_at = $8::timestamptz,
           lease = $9::bigint + case when p.lease is null then 0 else greatest(1, p.lease & 7) end
      from picked p
     where d.workspace_id = p.workspace_id and d.mode = p.mode
       and d.message_id = p.message_id and d.ordinal = p.ordinal
       and d.message_id between $11 and $12
 returning d.*)
select e.last_workspace_id, e.last_lane, e.visited,
       c.workspace_id, c.mode, c.message_id, c.ordinal, c.lane, c.recipient, c.recipient_key,
       c.lease, c.attempts, c.expires_at,
       case when c.runs = 1 then coalesce(m.scheduled_at, m.created_at)
            else c.expires_at - $10::interval
       end as run_started_at,
       m.created_at, m.tags, m.metadata, s.reason as suppression_reason,
       case when c.expires_at <= $5 then c.bounce end as bounce,
       case when c.expires_at <= $5 then c.smtp end as smtp
  from (select count(*)::int as visited,
               (array_agg(workspace_id order by step desc))[1] as last_workspace_id,
               (array_agg(lane order by step desc))[1] as last_lane from queues) e
  left join claimed c on true
  left join lateral (
    select created_at, scheduled_at, ttl_seconds, tags, metadata from messages
     where workspace_id = c.workspace_id and mode = c.mode and id = c.message_id
       and id between $11 and $12 limit 1) m on true
  left join lateral (
    select reason from suppressions
     where workspace_id = c.workspace_id and mode = c.mode
       and key in (c.recipient_key, '@' || regexp_replace(c.recipient_key, '^.*@', ''))
       and (expires_at is null or expires_at > $5) limit 1) s on true`;

export async function claimDue(pool: Pool, request: ClaimRequest): Promise<Claimed> {
  const { rows } = await pool.query<ClaimedRow & CursorColumns>({
    name: 'delivery-claim',
    text: CLAIM,
    values: [
      request.after.workspaceId,
      request.after.lane,
      request.skipWorkspaces,
      request.queuesMax,
      sqlTime(request.nowMs),
      request.perQueueMax,
      request.rowsMax,
      sqlTime(request.leaseEndsAtMs),
      request.lease,
      `${request.windowMs} milliseconds`,
      request.oldestId,
      uuidFloor(request.nowMs + DAY_MS),
    ],
  });
  const end = rows[0] as CursorColumns;
  const claimed = rows.filter((row) => row.message_id !== null);
  const last = claimed.at(-1);
  // A claim that was cut off by its room goes on where it stopped, not where it might have come to.
  if (last && claimed.length >= request.rowsMax) {
    return { rows: claimed, cursor: { workspaceId: last.workspace_id, lane: last.lane } };
  }
  const cursor =
    end.visited < request.queuesMax
      ? undefined
      : { workspaceId: end.last_workspace_id as string, lane: end.last_lane as number };
  return { rows: claimed, cursor };
}

/**
 * A bound below which nothing is unfinished. Each queue of a claim is looked up in every partition
 * of the history; leaving out the finished ones makes a claim ten times cheaper. Partitions are
 * read from the oldest on, and the first unfinished row is enough.
 */
export async function findOldest(pool: Pool, nowMs: number): Promise<string> {
  const { rows } = await pool.query<{ message_id: string }>({
    name: 'delivery-oldest',
    text: `select message_id from deliveries where status in ${WAITING} limit 1`,
  });
  const found = rows[0] ? uuidTime(rows[0].message_id) : nowMs;
  // The row stands anywhere in its partition, and a partition holds at most a week.
  return uuidFloor(Math.min(found, nowMs) - 8 * DAY_MS);
}

const DAY_MS = 86_400_000;

interface CursorColumns {
  visited: number;
  last_workspace_id: string | null;
  last_lane: number | null;
}

/** Prolongs leases; answers with the positions of those that are still ours. */
export function renewLeases(
  pool: Pool,
  held: readonly Delivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(pool, 'delivery-renew', `due_at = $4::timestamptz`, held, endsAtMs);
}

/** Gives rows back, due at once, so that any node may go on with them. */
export function releaseLeases(
  pool: Pool,
  held: readonly Delivery[],
  nowMs: number,
): Promise<number[]> {
  return updateLeased(
    pool,
    'delivery-release',
    `due_at = $4::timestamptz, lease = null`,
    held,
    nowMs,
  );
}

/** Counts a try of rows that have lost a lease before; answers with those still ours. */
export function countSuspects(
  pool: Pool,
  held: readonly Delivery[],
  endsAtMs: number,
): Promise<number[]> {
  return updateLeased(
    pool,
    'delivery-suspect',
    `due_at = $4::timestamptz, lease = d.lease + 1`,
    held,
    endsAtMs,
  );
}

async function updateLeased(
  pool: Pool,
  name: string,
  change: string,
  held: readonly Delivery[],
  timeMs: number,
): Promise<number[]> {
  if (held.length === 0) return [];
  const keys = held.map((delivery, n) => ({
    n,
    w: delivery.message.workspaceId,
    m: delivery.message.mode,
    id: delivery.message.id,
    o: delivery.ordinal,
    l: delivery.lease,
  }));
  const [first, last] = idRange(held);
  const { rows } = await pool.query<{ n: number }>({
    name,
    text: `update deliveries d set ${change}
        from json_to_recordset($1::json) as r(n int, w uuid, m mode, id uuid, o smallint, l bigint)
       where d.workspace_id = r.w and d.mode = r.m and d.message_id = r.id and d.ordinal = r.o
         and d.lease = r.l and d.message_id between $2 and $3
   returning r.n`,
    values: [JSON.stringify(keys), first, last, sqlTime(timeMs)],
  });
  return rows.map((row) => row.n);
}

/** Bounds that let the database leave out the partitions it need not touch. */
export function idRange(held: readonly Delivery[]): [string, string] {
  let first = held[0]?.message.id ?? '';
  let last = first;
  for (const { message } of held) {
    if (message.id < first) first = message.id;
    if (message.id > last) last = message.id;
  }
  return [first, last];
}
