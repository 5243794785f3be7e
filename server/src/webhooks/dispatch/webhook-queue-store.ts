import { inTransaction, type Pool, type PoolClient } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { WebhookAttemptsRow, WebhookDeliveriesRow } from '../../db/schema/tables.ts';
import { recordset } from '../../db/statements/recordset.ts';
import type { ClaimableQueue, FoundQueue } from '../../queue/due-queues.ts';
import type { LeaseTerms } from '../../queue/lease.ts';
import type { LeasedTable } from '../../queue/lease-store.ts';
import type { LeasedRow } from '../fan-out/fan-out-store.ts';
import { claimBacklogs, deleteOrphanedBacklogs } from '../fan-out/webhook-backlog-store.ts';
import type { EndpointKey } from './endpoint-key.ts';

/**
 * The queue of webhook deliveries: finds endpoints with due rows, claims rows, and records results.
 * The rows of one endpoint, and the events that were set aside for it, are one queue.
 */

export const WEBHOOK_DELIVERIES: LeasedTable<{ row: RowKey; lease: number }> = {
  name: 'webhook-deliveries',
  update: 'update webhook_deliveries d set',
  key: ['workspace_id uuid', 'mode mode', 'webhook_id uuid', 'event_id uuid'],
  keyOf: ({ row }) => [row.workspace_id, row.mode, row.webhook_id, row.event_id],
  unfinished: `status = 'pending'`,
};

const NIL = '00000000-0000-0000-0000-000000000000';
const SCAN_START: EndpointKey = { workspaceId: NIL, mode: 'live', webhookId: NIL };

/**
 * A loose index scan from endpoint to endpoint, and to the first row of each that will be due: an
 * endpoint with a million queued rows costs as much as one with a single row, and hides no other.
 * Rows of disabled and deleted endpoints are never due.
 */
export async function scanEndpoints(
  pool: Pool,
  after: EndpointKey = SCAN_START,
  endpointsMax = 500,
): Promise<FoundQueue<EndpointKey>[]> {
  const { rows } = await pool.query<EndpointKey & { dueAtMs: number | null }>({
    name: 'webhooks-scan',
    text: `with recursive queues (workspace_id, mode, webhook_id, due_at, step) as (
        select $1::uuid, $2::mode, $3::uuid, null::timestamptz, 0
      union all
        select n.workspace_id, n.mode, n.webhook_id, n.due_at, q.step + 1
          from queues q cross join lateral (
            (select d.workspace_id, d.mode, d.webhook_id, d.due_at from webhook_deliveries d
              where d.status = 'pending'
                and (d.workspace_id, d.mode, d.webhook_id) > (q.workspace_id, q.mode, q.webhook_id)
              order by d.workspace_id, d.mode, d.webhook_id, d.due_at limit 1)
          union all
            (select b.workspace_id, b.mode, b.webhook_id, b.due_at from webhook_backlogs b
              where (b.workspace_id, b.mode, b.webhook_id) > (q.workspace_id, q.mode, q.webhook_id)
              order by b.workspace_id, b.mode, b.webhook_id, b.first_tx, b.first_id limit 1)
            order by 1, 2, 3, 4 limit 1) n
         where q.step < $4::int)
      select q.workspace_id as "workspaceId", q.mode, q.webhook_id as "webhookId",
             case when w.enabled then q.due_at end as "dueAtMs"
        from queues q left join webhooks w
          on w.workspace_id = q.workspace_id and w.mode = q.mode and w.id = q.webhook_id
       where q.step > 0 order by q.step`,
    values: [after.workspaceId, after.mode, after.webhookId, endpointsMax],
  });
  return rows.map(({ dueAtMs, ...key }) => ({
    ...key,
    dueAtMs: dueAtMs ?? Number.POSITIVE_INFINITY,
  }));
}

/**
 * Leases rows that are due, which are retries and what other nodes have given back, and then events that
 * were set aside. Locking and changing are separate statements: see queue/lease-store.ts.
 */
export function claimDueWebhooks(
  pool: Pool,
  queues: readonly ClaimableQueue<EndpointKey>[],
  terms: LeaseTerms,
): Promise<LeasedRow[]> {
  return inTransaction(pool, async (client) => {
    const picked = await lockDue(client, queues, terms);
    const due = picked.length > 0 ? await leaseRows(client, picked, terms) : [];
    const counts = Map.groupBy(picked, ({ webhook_id }) => webhook_id);
    const left = queues
      .map((queue) => ({ ...queue, max: queue.max - (counts.get(queue.webhookId)?.length ?? 0) }))
      .filter(({ max }) => max > 0);
    return [...due, ...(await claimBacklogs(pool, client, left, terms))];
  });
}

async function lockDue(
  client: PoolClient,
  queues: readonly ClaimableQueue<EndpointKey>[],
  { nowMs }: LeaseTerms,
): Promise<RowKey[]> {
  const { rows } = await client.query<RowKey>({
    name: 'webhooks-lock',
    text: `select d.* from json_to_recordset($1::json)
            as q("workspaceId" uuid, mode mode, "webhookId" uuid, max int)
       cross join lateral (
         select d.workspace_id, d.mode, d.webhook_id, d.event_id from webhook_deliveries d
          where d.status = 'pending' and d.workspace_id = q."workspaceId" and d.mode = q.mode
            and d.webhook_id = q."webhookId" and d.due_at <= $2::timestamptz
          order by d.due_at limit q.max for update skip locked) d`,
    values: [JSON.stringify(queues), sqlTime(nowMs)],
  });
  return rows;
}

const KEYS = recordset<RowKey>({
  workspace_id: 'uuid',
  mode: 'mode',
  webhook_id: 'uuid',
  event_id: 'uuid',
});

async function leaseRows(
  client: PoolClient,
  picked: readonly RowKey[],
  terms: LeaseTerms,
): Promise<LeasedRow[]> {
  const { rows } = await client.query<LeasedRow>({
    name: 'webhooks-lease',
    text: `with claimed as (
        update webhook_deliveries d set due_at = $1::timestamptz, lease = $2::bigint
          from ${KEYS.table('p', 3)}
         where d.workspace_id = p.workspace_id and d.mode = p.mode and d.webhook_id = p.webhook_id
           and d.event_id = p.event_id
     returning d.*)
      select c.workspace_id, c.mode, c.webhook_id, c.event_id, c.attempts, c.cycle_attempts,
             w.revision, w.failing_since, c.event_type as type, e.created_at, e.sequence, e.data::text as data
        from claimed c
        join webhooks w
          on w.workspace_id = c.workspace_id and w.mode = c.mode and w.id = c.webhook_id
        left join lateral (
          select created_at, sequence, data from events e
           where e.workspace_id = c.workspace_id and e.mode = c.mode and e.tx = c.event_tx
             and e.id = c.event_id limit 1) e on true`,
    values: [sqlTime(terms.leaseEndsAtMs), terms.lease, ...KEYS.parameters(picked)],
  });
  return rows;
}

export type RowKey = Pick<
  WebhookDeliveriesRow,
  'workspace_id' | 'mode' | 'webhook_id' | 'event_id'
>;

/**
 * Fails deliveries of deleted endpoints, at most `limit` at a time to keep transactions short;
 * returns how many there were. This does not happen with the deletion, because events may be fanned
 * out concurrently.
 */
export async function failOrphans(pool: Pool, nowMs: number, limit: number): Promise<number> {
  await deleteOrphanedBacklogs(pool, limit);
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
export interface AttemptRecord
  extends RowKey,
    Pick<WebhookDeliveriesRow, 'status' | 'due_at'>,
    Pick<
      WebhookAttemptsRow,
      'started_at' | 'duration_ms' | 'url' | 'response_status' | 'response_body' | 'error'
    > {
  lease: number;
  /** When the attempt ended. */
  at: number;
  headers: Record<string, string>;
  /** The endpoint was failing when the row was claimed. */
  failing: boolean;
}

type ResultRow = Omit<AttemptRecord, 'headers' | 'failing'> & { n: number; headers: string };

const RESULTS = recordset<ResultRow>({
  n: 'integer',
  workspace_id: 'uuid',
  mode: 'mode',
  webhook_id: 'uuid',
  event_id: 'uuid',
  lease: 'bigint',
  status: 'text',
  due_at: 'timestamptz',
  at: 'timestamptz',
  started_at: 'timestamptz',
  duration_ms: 'integer',
  url: 'text',
  headers: 'json',
  response_status: 'smallint',
  response_body: 'text',
  error: 'text',
});

/**
 * Records many results in one commit: the delivery with its first attempt, or another attempt, and the
 * endpoint when its health changes. Everything depends on the update of the delivery, which requires
 * the right lease. Returns for each whether it was written. Rejected: restricting the range of ids to
 * prune partitions, because the planner assumes that it is nearly empty, reads all of it and compares
 * it with every result.
 */
export async function recordAttempts(
  pool: Pool,
  results: readonly AttemptRecord[],
): Promise<boolean[]> {
  const recovered = results.some((result) => result.failing && result.status === 'succeeded');
  const failed = results.some((result) => result.status !== 'succeeded');
  const rowsToWrite = results.map((result, n) => ({
    ...result,
    n,
    headers: JSON.stringify(result.headers),
  }));
  const { rows } = await pool.query<{ n: number }>({
    name: `webhooks-record-${+recovered}${+failed}`,
    text: `${RECORD}${recovered ? RECOVERED : ''}${failed ? FAILED : ''} select n from moved`,
    values: RESULTS.parameters(rowsToWrite),
  });
  const written = new Array<boolean>(results.length).fill(false);
  for (const { n } of rows) written[n] = true;
  return written;
}

const ATTEMPT = [
  'started_at',
  'duration_ms',
  'url',
  'headers',
  'response_status',
  'response_body',
  'error',
] as const satisfies (keyof ResultRow)[];

const RECORD = `
with r as materialized (
    select * from ${RESULTS.table('r', 1)}),
moved as (
    update webhook_deliveries d
       set status = r.status::webhook_delivery_status, due_at = r.due_at, lease = null,
           attempts = d.attempts + 1, cycle_attempts = d.cycle_attempts + 1,
           last_response_status = r.response_status, last_error = r.error,
           finished_at = case when r.status <> 'pending' then r.at end,
           ${ATTEMPT.map((column) => `first_${column} = case when d.attempts = 0 then r.${column} else d.first_${column} end`).join(', ')}
      from r
     where d.workspace_id = r.workspace_id and d.mode = r.mode and d.webhook_id = r.webhook_id
       and d.event_id = r.event_id and d.lease = r.lease
 returning r.*, d.attempts as number),
recorded_attempts as (
    insert into webhook_attempts (workspace_id, mode, webhook_id, event_id, number,
                                  ${ATTEMPT.join(', ')})
    select workspace_id, mode, webhook_id, event_id, number, ${ATTEMPT.join(', ')}
      from moved where number > 1)`;

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
