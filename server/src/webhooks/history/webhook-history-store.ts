import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type {
  WebhookAttemptsRow,
  WebhookDeliveriesRow,
  WebhookDeliveryStatus,
} from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import { isUnprocessed } from '../../events/event-consumer-store.ts';
import type { EventPosition } from '../../events/events-store.ts';
import { uuidFloor } from '../../lib/ids.ts';
import { lockThenChange } from '../../queue/lease-store.ts';
import { subscribesTo } from '../webhook-store.ts';

/** Deliveries to an endpoint, their attempts, and statements that replay them. */

export interface WebhookDelivery {
  webhookId: string;
  eventId: string;
  /** Null for events without a message, and for those past their retention period. */
  messageId: string | null;
  eventType: string;
  status: WebhookDeliveryStatus;
  dueAtMs: number | null;
  leased: boolean;
  attempts: number;
  createdAtMs: number;
  finishedAtMs: number | null;
  lastStatus: number | null;
  lastError: string | null;
}

const OWN_COLUMNS = selectList<WebhookDeliveriesRow, Omit<WebhookDelivery, 'messageId' | 'leased'>>(
  {
    webhookId: 'webhook_id',
    eventId: 'event_id',
    eventType: 'event_type',
    status: 'status',
    dueAtMs: 'due_at',
    attempts: 'attempts',
    createdAtMs: 'created_at',
    finishedAtMs: 'finished_at',
    lastStatus: 'last_response_status',
    lastError: 'last_error',
  },
  'd',
);

export const DELIVERY_COLUMNS = `${OWN_COLUMNS}, d.lease is not null as leased,
  (select e.message_id from events e where e.workspace_id = d.workspace_id and e.mode = d.mode
      and e.tx = d.event_tx and e.id = d.event_id) as "messageId"`;

const OF_WEBHOOK = 'd.workspace_id = $1 and d.mode = $2 and d.webhook_id = $3';

export interface DeliveredEvent {
  type: string;
  createdAtMs: number;
  sequence: number | null;
  data: string;
}

/** The delivery with its event, while that is retained. */
export async function findDelivery(
  pool: Pool,
  scope: TenantScope,
  webhookId: string,
  eventId: string,
): Promise<{ delivery: WebhookDelivery; event: DeliveredEvent | undefined } | undefined> {
  const { rows } = await pool.query<WebhookDelivery & DeliveredEventColumns>(
    `select ${DELIVERY_COLUMNS}, e.created_at as "eventAtMs", e.sequence, e.data::text as data
     from webhook_deliveries d left join events e
       on e.workspace_id = d.workspace_id and e.mode = d.mode and e.tx = d.event_tx
      and e.id = d.event_id and e.id = $4
     where ${OF_WEBHOOK} and d.event_id = $4`,
    [scope.workspaceId, scope.mode, webhookId, eventId],
  );
  const [row] = rows;
  if (!row) return undefined;
  const { eventAtMs, sequence, data, ...delivery } = row;
  const event =
    data === null || eventAtMs === null
      ? undefined
      : { type: delivery.eventType, createdAtMs: eventAtMs, sequence, data };
  return { delivery, event };
}

interface DeliveredEventColumns {
  eventAtMs: number | null;
  sequence: number | null;
  data: string | null;
}

/** Which of the candidate endpoints the delivery went to; for each of them its event id differs. */
export async function findDeliveryEndpoint(
  pool: Pool,
  scope: TenantScope,
  candidates: readonly { webhookId: string; eventId: string }[],
): Promise<string | undefined> {
  const { rows } = await pool.query<{ webhookId: string }>(
    `select d.webhook_id as "webhookId"
     from unnest($3::uuid[], $4::uuid[]) as c (webhook_id, event_id) join webhook_deliveries d
       on d.workspace_id = $1 and d.mode = $2 and d.webhook_id = c.webhook_id
      and d.event_id = c.event_id`,
    [
      scope.workspaceId,
      scope.mode,
      candidates.map(({ webhookId }) => webhookId),
      candidates.map(({ eventId }) => eventId),
    ],
  );
  return rows[0]?.webhookId;
}

export interface StoredAttempt {
  number: number;
  startedAtMs: number;
  durationMs: number;
  url: string;
  headers: Record<string, string>;
  status: number | null;
  responseBody: string | null;
  error: string | null;
}

const ATTEMPT_COLUMNS = selectList<WebhookAttemptsRow, StoredAttempt>({
  number: 'number',
  startedAtMs: 'started_at',
  durationMs: 'duration_ms',
  url: 'url',
  headers: 'headers',
  status: 'response_status',
  responseBody: 'response_body',
  error: 'error',
});

const FIRST_ATTEMPT_COLUMNS = selectList<
  WebhookDeliveriesRow,
  { [name in keyof Omit<StoredAttempt, 'number'>]: StoredAttempt[name] | null }
>({
  startedAtMs: 'first_started_at',
  durationMs: 'first_duration_ms',
  url: 'first_url',
  headers: 'first_headers',
  status: 'first_response_status',
  responseBody: 'first_response_body',
  error: 'first_error',
});

/** All attempts, oldest first. The first one is in the row of the delivery. */
export async function listAttempts(
  pool: Pool,
  scope: TenantScope,
  webhookId: string,
  eventId: string,
): Promise<StoredAttempt[]> {
  const { rows } = await pool.query<StoredAttempt>(
    `select 1 as number, ${FIRST_ATTEMPT_COLUMNS} from webhook_deliveries d
      where ${OF_WEBHOOK} and d.event_id = $4 and first_started_at is not null
     union all
     select ${ATTEMPT_COLUMNS} from webhook_attempts d where ${OF_WEBHOOK} and d.event_id = $4
      order by number`,
    [scope.workspaceId, scope.mode, webhookId, eventId],
  );
  return rows;
}

/** Starts a new delivery cycle now; a row that is being attempted is left alone. */
const REQUEUE = `status = 'pending', due_at = $4::timestamptz, lease = null, cycle_attempts = 0, finished_at = null`;

export async function replayOne(
  pool: Pool,
  scope: TenantScope,
  webhookId: string,
  eventId: string,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update webhook_deliveries d set ${REQUEUE} where ${OF_WEBHOOK} and d.event_id = $5 and d.lease is null`,
    [scope.workspaceId, scope.mode, webhookId, sqlTime(nowMs), eventId],
  );
  return rowCount === 1;
}

export interface TimeRange {
  fromMs: number;
  toMs: number;
}

/**
 * Replays at most `limit` failed deliveries, oldest event first. Transactions are short: a long one
 * that writes would delay every consumer of the event log.
 */
export async function replayFailed(
  pool: Pool,
  scope: TenantScope,
  webhookId: string,
  range: TimeRange,
  limit: number,
  nowMs: number,
): Promise<number> {
  const key = [scope.workspaceId, scope.mode, webhookId];
  const replayed = await lockThenChange(
    pool,
    async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `select d.event_id as id from webhook_deliveries d
          where ${OF_WEBHOOK} and d.status = 'failed' and d.event_id >= $4 and d.event_id < $5
          order by d.event_id limit $6 for update skip locked`,
        [...key, uuidFloor(range.fromMs), uuidFloor(range.toMs), limit],
      );
      return rows.map(({ id }) => id);
    },
    async (client, ids) => {
      const bounds = [ids[0], ids.at(-1)];
      const { rows } = await client.query(
        `update webhook_deliveries d set ${REQUEUE} from unnest($5::uuid[]) as r(id)
          where ${OF_WEBHOOK} and d.event_id = r.id and d.event_id between $6 and $7 returning 1`,
        [...key, sqlTime(nowMs), ids, ...bounds],
      );
      return rows;
    },
  );
  return replayed.length;
}

const DAY_MS = 86_400_000;

export interface ReplayStep {
  scanned: number;
  replayed: number;
  next: EventPosition;
  /** The latest time among the scanned events; null when there were none. */
  latestMs: number | null;
}

/**
 * Scans part of the event log and queues the events that the endpoint subscribes to: those it has
 * received, and those it never received because it was disabled or did not exist. Events that still wait
 * for their first attempt are left alone, in the backlog and in the part of the log that the fan-out
 * has yet to read: it would fail on rows that exist.
 */
export async function replayEvents(
  pool: Pool,
  scope: TenantScope,
  webhookId: string,
  range: TimeRange & { oldestMs: number },
  after: EventPosition,
  scanMax: number,
  nowMs: number,
): Promise<ReplayStep> {
  const { rows } = await pool.query<{
    scanned: number;
    replayed: number;
    latestMs: number | null;
    tx: number | null;
    id: string | null;
  }>(
    `with scanned as materialized (
       select tx, id, type, data, created_at from events
        where workspace_id = $1 and mode = $2 and (tx, id) > ($7, $8) and id >= $5 and id < $6
          and created_at >= $10::timestamptz and created_at < $11::timestamptz
          and tx < event_log_horizon()
        order by tx, id limit $9),
     queued as (
       insert into webhook_deliveries as d (workspace_id, mode, webhook_id, event_id, event_tx,
                                            event_type, due_at, created_at)
       select w.workspace_id, w.mode, w.id, s.id, s.tx, s.type, $4::timestamptz, $4
         from scanned s
         join webhooks w on w.workspace_id = $1 and w.mode = $2 and w.id = $3
        where ${subscribesTo('s')}
          and (not ${isUnprocessed('webhooks', 's')} or s.tx <= w.since_tx)
          and not exists (select from webhook_backlogs b
            where b.workspace_id = $1 and b.mode = $2 and b.webhook_id = $3
              and (b.first_tx, b.first_id) <= (s.tx, s.id) and (s.tx, s.id) <= (b.last_tx, b.last_id))
           on conflict (workspace_id, mode, webhook_id, event_id) do update set ${REQUEUE}
        where d.status <> 'pending'
       returning 1)
     select (select count(*) from scanned)::int as scanned, (select count(*) from queued)::int as replayed,
            (select max(created_at) from scanned) as "latestMs", l.tx, l.id
       from (select) one left join (select tx, id from scanned order by tx desc, id desc limit 1) l on true`,
    [
      scope.workspaceId,
      scope.mode,
      webhookId,
      sqlTime(nowMs),
      // Ids reflect their time except after a clock was set back, so they only select partitions.
      uuidFloor(Math.max(range.fromMs - DAY_MS, range.oldestMs)),
      uuidFloor(range.toMs + DAY_MS),
      after.tx,
      after.id,
      scanMax,
      sqlTime(range.fromMs),
      sqlTime(range.toMs),
    ],
  );
  const { scanned = 0, replayed = 0, latestMs = null, tx, id } = rows[0] ?? {};
  const next = tx != null && id != null ? { tx, id } : after;
  return { scanned, replayed, next, latestMs };
}

/**
 * The time of the earliest event after a position, null when there are none. A request that
 * continues from there misses nothing. Events are not strictly ordered by time, because a node may
 * write late, but only by minutes, and this many events are checked.
 */
export async function earliestRemaining(
  pool: Pool,
  scope: TenantScope,
  range: TimeRange & { oldestMs: number },
  after: EventPosition,
  scanMax: number,
): Promise<number | null> {
  const { rows } = await pool.query<{ earliestMs: number | null }>(
    `select min(created_at) as "earliestMs" from (
       select created_at from events
        where workspace_id = $1 and mode = $2 and (tx, id) > ($3, $4) and id >= $5 and id < $6
          and created_at >= $7::timestamptz and created_at < $8::timestamptz
        order by tx, id limit $9) rest`,
    [
      scope.workspaceId,
      scope.mode,
      after.tx,
      after.id,
      uuidFloor(Math.max(range.fromMs - DAY_MS, range.oldestMs)),
      uuidFloor(range.toMs + DAY_MS),
      sqlTime(range.fromMs),
      sqlTime(range.toMs),
      scanMax,
    ],
  );
  return rows[0]?.earliestMs ?? null;
}
