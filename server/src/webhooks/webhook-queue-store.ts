import type { Mode } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import type { ClaimCapacity, LeasedRow, LeaseTerms } from './fan-out-store.ts';

/**
 * The queue of webhook deliveries: claims due rows, releases them, and records results.
 *
 * The pool must be the dispatcher's own. Plans are cached while tables grow from nothing to
 * millions of rows; every statement here is a few lookups by key, so these sessions allow no other
 * plans.
 */
export function disableNonIndexWebhookPlans(pool: Pool): void {
  pool.on('connect', (client) => {
    client.query(PLANNER_SETTINGS).catch(() => {});
  });
}

const PLANNER_SETTINGS = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']
  .map((method) => `set enable_${method} = off`)
  .join('; ');

/** A position in the iteration over all endpoints: the next claim continues after it. */
export interface ClaimCursor {
  workspaceId: string;
  mode: Mode;
  webhookId: string;
}

const NIL = '00000000-0000-0000-0000-000000000000';
export const CLAIM_START: ClaimCursor = { workspaceId: NIL, mode: 'live', webhookId: NIL };

/** The most endpoints that one claim visits, which bounds its cost when few have anything due. */
const ENDPOINTS_MAX = 500;

/**
 * A loose index scan from endpoint to endpoint, with a few due rows of each: an endpoint with a
 * million queued rows costs as much as one with a single row, and hides no other. Rows of disabled
 * endpoints stay queued.
 */
const CLAIM = `
with recursive queues (workspace_id, mode, webhook_id, step) as (
    (select workspace_id, mode, webhook_id, 1 from webhook_deliveries
      where status = 'pending' and (workspace_id, mode, webhook_id) > ($1::uuid, $2::mode, $3::uuid)
      order by workspace_id, mode, webhook_id limit 1)
  union all
    select n.workspace_id, n.mode, n.webhook_id, q.step + 1
      from queues q cross join lateral (
        select d.workspace_id, d.mode, d.webhook_id from webhook_deliveries d
         where d.status = 'pending'
           and (d.workspace_id, d.mode, d.webhook_id) > (q.workspace_id, q.mode, q.webhook_id)
         order by d.workspace_id, d.mode, d.webhook_id limit 1) n
     where q.step < ${ENDPOINTS_MAX}),
capacity as (
    select * from json_to_recordset($4::json) as r(id uuid, capacity int)),
picked as materialized (
    select d.*, w.revision, w.failing_since
      from queues q
      join webhooks w on w.workspace_id = q.workspace_id and w.mode = q.mode and w.id = q.webhook_id
      left join capacity r on r.id = q.webhook_id
      cross join lateral (
        select d.workspace_id, d.mode, d.webhook_id, d.event_id from webhook_deliveries d
         where d.status = 'pending' and d.workspace_id = q.workspace_id and d.mode = q.mode
           and d.webhook_id = q.webhook_id and d.due_at <= $7::timestamptz
         order by d.due_at limit coalesce(r.capacity, $5::int) for update skip locked) d
     where w.enabled
     limit $6::int),
claimed as (
    update webhook_deliveries d set due_at = $8::timestamptz, lease = $9::bigint
      from picked p
     where d.workspace_id = p.workspace_id and d.mode = p.mode and d.webhook_id = p.webhook_id
       and d.event_id = p.event_id
 returning d.*, p.revision, p.failing_since)
select t.visited, t.last_workspace_id, t.last_mode, t.last_webhook_id,
       c.workspace_id, c.mode, c.webhook_id, c.event_id, c.cycle_attempts, c.revision, c.failing_since,
       c.event_type as type, e.created_at, e.sequence, e.data::text as data
  from (select count(*)::int as visited,
               (array_agg(workspace_id order by step desc))[1] as last_workspace_id,
               (array_agg(mode order by step desc))[1] as last_mode,
               (array_agg(webhook_id order by step desc))[1] as last_webhook_id from queues) t
  left join claimed c on true
  left join lateral (
    select created_at, sequence, data from events e
     where e.workspace_id = c.workspace_id and e.mode = c.mode and e.tx = c.event_tx
       and e.id = c.event_id limit 1) e on true`;

interface CursorColumns {
  visited: number;
  last_workspace_id: string | null;
  last_mode: Mode | null;
  last_webhook_id: string | null;
}

export interface ClaimedBatch {
  rows: LeasedRow[];
  /** Undefined when all endpoints have been visited. */
  cursor: ClaimCursor | undefined;
}

export async function claimDueWebhooks(
  pool: Pool,
  after: ClaimCursor,
  capacity: ClaimCapacity,
  terms: LeaseTerms,
): Promise<ClaimedBatch> {
  const { rows } = await pool.query<LeasedRow & CursorColumns>({
    name: 'webhooks-claim',
    text: CLAIM,
    values: [
      after.workspaceId,
      after.mode,
      after.webhookId,
      JSON.stringify(capacity.perEndpoint),
      capacity.defaultPerEndpoint,
      capacity.total,
      sqlTime(terms.nowMs),
      sqlTime(terms.leaseEndsAtMs),
      terms.lease,
    ],
  });
  const claimed = rows.filter((row) => row.event_id !== null);
  const last = claimed.at(-1);
  // A claim that ran out of capacity continues where it stopped.
  if (last && claimed.length >= capacity.total) {
    const { workspace_id, mode, webhook_id } = last;
    return { rows: claimed, cursor: { workspaceId: workspace_id, mode, webhookId: webhook_id } };
  }
  const end = rows[0] as CursorColumns;
  const cursor =
    end.visited < ENDPOINTS_MAX
      ? undefined
      : {
          workspaceId: end.last_workspace_id as string,
          mode: end.last_mode as Mode,
          webhookId: end.last_webhook_id as string,
        };
  return { rows: claimed, cursor };
}

export interface RowKey {
  workspace_id: string;
  mode: Mode;
  webhook_id: string;
  event_id: string;
}

/** Releases rows, due at once, so that any node can claim them. */
export async function releaseRows(
  pool: Pool,
  rows: readonly RowKey[],
  lease: number,
  nowMs: number,
): Promise<void> {
  if (rows.length === 0) return;
  await pool.query({
    name: 'webhooks-release',
    text: `update webhook_deliveries d set due_at = $3::timestamptz, lease = null
        from json_to_recordset($1::json) as r(workspace_id uuid, mode mode, webhook_id uuid, event_id uuid)
       where d.workspace_id = r.workspace_id and d.mode = r.mode and d.webhook_id = r.webhook_id
         and d.event_id = r.event_id and d.lease = $2`,
    values: [
      JSON.stringify(
        rows.map(({ workspace_id, mode, webhook_id, event_id }) => ({
          workspace_id,
          mode,
          webhook_id,
          event_id,
        })),
      ),
      lease,
      sqlTime(nowMs),
    ],
  });
}

/** Ends all leases, as `expireLeases` does for messages; returns how many. */
export async function expireWebhookLeases(pool: Pool, nowMs: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query('set local enable_seqscan = off');
    const { rowCount } = await client.query(
      `update webhook_deliveries set due_at = $1::timestamptz, lease = null
        where status = 'pending' and lease is not null and due_at > $1::timestamptz`,
      [sqlTime(nowMs)],
    );
    return rowCount ?? 0;
  });
}

/**
 * Fails deliveries of deleted endpoints, at most `limit` at a time to keep transactions short;
 * returns how many there were. This does not happen with the deletion, because events may be fanned
 * out concurrently.
 */
export async function failOrphans(pool: Pool, nowMs: number, limit: number): Promise<number> {
  const { rowCount } = await pool.query({
    name: 'webhooks-end-orphans',
    text: `with recursive queues (workspace_id, mode, webhook_id) as (
        (select workspace_id, mode, webhook_id from webhook_deliveries where status = 'pending'
          order by workspace_id, mode, webhook_id limit 1)
      union all
        select n.workspace_id, n.mode, n.webhook_id from queues q cross join lateral (
          select d.workspace_id, d.mode, d.webhook_id from webhook_deliveries d
           where d.status = 'pending'
             and (d.workspace_id, d.mode, d.webhook_id) > (q.workspace_id, q.mode, q.webhook_id)
           order by d.workspace_id, d.mode, d.webhook_id limit 1) n),
      deleted as materialized (
        select * from queues q where not exists (select from webhooks w
          where w.workspace_id = q.workspace_id and w.mode = q.mode and w.id = q.webhook_id)),
      orphans as materialized (
        select d.* from deleted g cross join lateral (
          select d.workspace_id, d.mode, d.webhook_id, d.event_id from webhook_deliveries d
           where d.status = 'pending' and d.workspace_id = g.workspace_id and d.mode = g.mode
             and d.webhook_id = g.webhook_id limit $2) d
         limit $2)
      update webhook_deliveries d set status = 'failed', due_at = null, lease = null,
             finished_at = $1::timestamptz, last_error = 'The endpoint was deleted.'
        from orphans o
       where d.workspace_id = o.workspace_id and d.mode = o.mode and d.webhook_id = o.webhook_id
         and d.event_id = o.event_id and d.status = 'pending'`,
    values: [sqlTime(nowMs), limit],
  });
  return rowCount ?? 0;
}

/** The result of one attempt, as stored. */
export interface AttemptRecord extends RowKey {
  lease: number;
  status: 'pending' | 'succeeded' | 'failed';
  due_at: string | null;
  at: string;
  started_at: string;
  duration_ms: number;
  url: string;
  headers: Record<string, string>;
  response_status: number | null;
  response_body: string | null;
  error: string | null;
  /** The endpoint was failing when the row was claimed. */
  failing: boolean;
}

/**
 * Records many results in one commit: the delivery, the attempt, and the endpoint when its health
 * changes. Everything depends on the update of the delivery, which requires the right lease.
 * Returns for each whether it was written. Rejected: restricting the range of ids to prune
 * partitions, because the planner assumes that it is nearly empty, reads all of it and compares it
 * with every result.
 */
export async function recordAttempts(
  pool: Pool,
  results: readonly AttemptRecord[],
): Promise<boolean[]> {
  const recovered = results.some((result) => result.failing && result.status === 'succeeded');
  const failed = results.some((result) => result.status !== 'succeeded');
  const { rows } = await pool.query<{ n: number }>({
    name: `webhooks-record-${+recovered}${+failed}`,
    text: `${RECORD}${recovered ? RECOVERED : ''}${failed ? FAILED : ''} select n from moved`,
    values: [JSON.stringify(results.map((result, n) => ({ n, ...result })))],
  });
  const written = new Array<boolean>(results.length).fill(false);
  for (const { n } of rows) written[n] = true;
  return written;
}

const RECORD = `
with r as materialized (
    select * from json_to_recordset($1::json) as r(
      n int, workspace_id uuid, mode mode, webhook_id uuid, event_id uuid, lease bigint,
      status webhook_delivery_status, due_at timestamptz, at timestamptz, started_at timestamptz,
      duration_ms int, url text, headers json, response_status smallint, response_body text, error text)),
moved as (
    update webhook_deliveries d
       set status = r.status, due_at = r.due_at, lease = null, attempts = d.attempts + 1,
           cycle_attempts = d.cycle_attempts + 1, last_response_status = r.response_status, last_error = r.error,
           finished_at = case when r.status <> 'pending' then r.at end
      from r
     where d.workspace_id = r.workspace_id and d.mode = r.mode and d.webhook_id = r.webhook_id
       and d.event_id = r.event_id and d.lease = r.lease
 returning r.*, d.attempts as number),
recorded_attempts as (
    insert into webhook_attempts (workspace_id, mode, webhook_id, event_id, number, started_at,
                               duration_ms, url, headers, response_status, response_body, error)
    select workspace_id, mode, webhook_id, event_id, number, started_at, duration_ms, url, headers,
           response_status, response_body, error from moved)`;

const RECOVERED = `,
recovered as (
    update webhooks w set failing_since = null
     where w.failing_since is not null and (w.workspace_id, w.mode, w.id) in (
       select workspace_id, mode, webhook_id from moved where status = 'succeeded'))`;

/**
 * Only when there is no success among the failures, so that a single bad response does not count.
 */
const FAILED = `,
failed as (
    update webhooks w set failing_since = f.at
      from (select workspace_id, mode, webhook_id, min(at) as at from moved
             group by workspace_id, mode, webhook_id
            having bool_and(status <> 'succeeded')) f
     where w.failing_since is null and w.workspace_id = f.workspace_id and w.mode = f.mode
       and w.id = f.webhook_id)`;
