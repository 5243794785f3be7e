import type { Pool, PoolClient, Queryable } from '../../db/connections/pool.ts';
import { partitionsStartMs } from '../../db/schema/partitions.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { WebhookBacklogsRow } from '../../db/schema/tables.ts';
import { recordset } from '../../db/statements/recordset.ts';
import { uuidFloor, uuidTime } from '../../lib/ids.ts';
import type { ClaimableQueue } from '../../queue/due-queues.ts';
import type { LeaseTerms } from '../../queue/lease.ts';
import { PARKED_FOR, PARKED_FROM } from '../../queue/parking-store.ts';
import type { EndpointKey } from '../dispatch/endpoint-key.ts';
import { subscribesTo } from '../webhook-store.ts';
import type { LeasedRow } from './fan-out-store.ts';

/**
 * Events that the fan-out has set aside, because no node had capacity for them. Each row is a part of
 * the event log for one endpoint. A claim turns its first events into leased deliveries and shortens
 * it, in one commit: every event is in exactly one place. No lease is needed, since a claim that fails
 * leaves the row as it was.
 */
type Backlog = Omit<WebhookBacklogsRow, 'due_at'>;

interface PickedBacklog extends Omit<Backlog, 'events'> {
  n: number;
  max: number;
}

const BACKLOGS = recordset<PickedBacklog>({
  n: 'integer',
  workspace_id: 'uuid',
  mode: 'mode',
  webhook_id: 'uuid',
  first_tx: 'bigint',
  first_id: 'uuid',
  last_tx: 'bigint',
  last_id: 'uuid',
  max: 'integer',
});

/** Rows of one endpoint that a claim examines. Each has up to a batch of the fan-out. */
const ROWS_PER_ENDPOINT = 16;
const DAY_MS = 86_400_000;

/** In the caller's transaction. */
export async function claimBacklogs(
  pool: Pool,
  client: PoolClient,
  queues: readonly ClaimableQueue<EndpointKey>[],
  terms: LeaseTerms,
): Promise<LeasedRow[]> {
  if (queues.length === 0) return [];
  const picked = pick(queues, await lockBacklogs(client, queues, terms));
  if (picked.length === 0) return [];
  const { rows } = await client.query<LeasedRow>({
    name: 'webhooks-claim-backlogs',
    text: CLAIM,
    values: [
      sqlTime(terms.nowMs),
      sqlTime(terms.leaseEndsAtMs),
      terms.lease,
      await oldestEventId(pool, picked, terms.nowMs),
      ...BACKLOGS.parameters(picked),
    ],
  });
  return rows;
}

async function lockBacklogs(
  client: PoolClient,
  queues: readonly ClaimableQueue<EndpointKey>[],
  { nowMs }: LeaseTerms,
): Promise<Backlog[]> {
  const { rows } = await client.query<Backlog>({
    name: 'webhooks-lock-backlogs',
    text: `select b.* from json_to_recordset($1::json)
            as q("workspaceId" uuid, mode mode, "webhookId" uuid, max int)
       join webhooks w
         on w.workspace_id = q."workspaceId" and w.mode = q.mode and w.id = q."webhookId" and w.enabled
      cross join lateral (
        select workspace_id, mode, webhook_id, first_tx, first_id, last_tx, last_id, events
          from webhook_backlogs b
         where b.workspace_id = q."workspaceId" and b.mode = q.mode and b.webhook_id = q."webhookId"
           and b.due_at <= $2::timestamptz
         order by b.first_tx, b.first_id limit least(q.max, ${ROWS_PER_ENDPOINT})
           for update skip locked) b`,
    values: [JSON.stringify(queues), sqlTime(nowMs)],
  });
  return rows;
}

/** The oldest events of each endpoint, up to what it may have. */
function pick(
  queues: readonly ClaimableQueue<EndpointKey>[],
  backlogs: readonly Backlog[],
): PickedBacklog[] {
  const left = new Map(queues.map(({ webhookId, max }) => [webhookId, max]));
  const picked: PickedBacklog[] = [];
  for (const { events, ...backlog } of backlogs) {
    const capacity = left.get(backlog.webhook_id) ?? 0;
    if (capacity <= 0) continue;
    const max = Math.min(events, capacity);
    left.set(backlog.webhook_id, capacity - max);
    picked.push({ ...backlog, n: picked.length, max });
  }
  return picked;
}

/** Events are retained longer than deliveries; older ones have no partition any more. */
async function oldestEventId(
  pool: Pool,
  backlogs: readonly PickedBacklog[],
  nowMs: number,
): Promise<string> {
  const oldestMs = Math.min(...backlogs.map(({ first_id }) => uuidTime(first_id)));
  if (oldestMs > nowMs - DAY_MS) return uuidFloor(0);
  return uuidFloor(await partitionsStartMs(pool, 'webhook_deliveries'));
}

/**
 * One event more than wanted is read from each part of the log: it is where the rest begins. Without
 * it, the part is finished. The subscription is that of now, so an event may be left out, or another
 * be included that the endpoint did not subscribe to before.
 */
const CLAIM = `
with p as materialized (
    select * from ${BACKLOGS.table('p', 5)}),
found as materialized (
    select p.n, p.max, p.workspace_id, p.mode, p.webhook_id, p.first_tx, p.first_id, w.revision,
           w.failing_since, e.*
      from p join webhooks w
        on w.workspace_id = p.workspace_id and w.mode = p.mode and w.id = p.webhook_id
     cross join lateral (
        select e.tx, e.id, e.type, e.created_at, e.sequence, e.data,
               row_number() over (order by e.tx, e.id) as turn
          from events e
         where e.workspace_id = p.workspace_id and e.mode = p.mode
           and (e.tx, e.id) >= (p.first_tx, p.first_id) and (e.tx, e.id) <= (p.last_tx, p.last_id)
           and e.id >= $4::uuid and ${subscribesTo('e')}
         order by e.tx, e.id limit p.max + 1) e),
rest as materialized (
    select * from found where turn > max),
made as (
    insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
                                    due_at, lease, created_at)
    select workspace_id, mode, webhook_id, id, tx, type, $2::timestamptz, $3::bigint, $1::timestamptz
      from found where turn <= max),
shortened as (
    update webhook_backlogs b
       set first_tx = r.tx, first_id = r.id, events = greatest(1, b.events - r.max)
      from rest r
     where b.workspace_id = r.workspace_id and b.mode = r.mode and b.webhook_id = r.webhook_id
       and b.first_tx = r.first_tx and b.first_id = r.first_id),
finished as (
    delete from webhook_backlogs b using p
     where b.workspace_id = p.workspace_id and b.mode = p.mode and b.webhook_id = p.webhook_id
       and b.first_tx = p.first_tx and b.first_id = p.first_id
       and not exists (select from rest r where r.n = p.n))
select workspace_id, mode, webhook_id, id as event_id, 0 as attempts, 0 as cycle_attempts, revision,
       failing_since, type, created_at, sequence, data::text as data
  from found where turn <= max`;

/** Removes what waits for deleted endpoints, at most `limit` rows. */
export async function deleteOrphanedBacklogs(pool: Pool, limit: number): Promise<void> {
  await pool.query({
    name: 'webhooks-delete-orphaned-backlogs',
    text: `delete from webhook_backlogs d using (
        select b.workspace_id, b.mode, b.webhook_id, b.first_tx, b.first_id from webhook_backlogs b
         where not exists (select from webhooks w
           where w.workspace_id = b.workspace_id and w.mode = b.mode and w.id = b.webhook_id)
         limit $1) o
      where d.workspace_id = o.workspace_id and d.mode = o.mode and d.webhook_id = o.webhook_id
        and d.first_tx = o.first_tx and d.first_id = o.first_id`,
    values: [limit],
  });
}

/** What queue/parking-store.ts does with rows that have leases. */
export async function parkBacklogs(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(
    `update webhook_backlogs set due_at = due_at + ${PARKED_FOR}
      where workspace_id = $1 and due_at < ${PARKED_FROM}`,
    [workspaceId],
  );
}

export async function unparkBacklogs(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(
    `update webhook_backlogs set due_at = due_at - ${PARKED_FOR}
      where workspace_id = $1 and due_at >= ${PARKED_FROM}`,
    [workspaceId],
  );
}

export async function anyUnparkedBacklog(db: Queryable, workspaceId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from webhook_backlogs where workspace_id = $1 and due_at < ${PARKED_FROM} limit 1`,
    [workspaceId],
  );
  return rowCount === 1;
}
