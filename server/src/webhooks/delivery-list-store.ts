import type { Pool } from '../db/pool.ts';
import { uuidFloor, uuidTime } from '../lib/ids.ts';
import {
  DELIVERY_COLUMNS,
  type WebhookDelivery,
  type WebhookDeliveryStatus,
} from './history-store.ts';
import type { Scope } from './webhook-store.ts';

/**
 * Lists of deliveries, of one endpoint or of all, newest event first. A request looks at a bounded
 * number of rows: with a filter that matches little, a page may be short and still have a next one.
 */

export interface DeliveryFilter {
  webhookId?: string;
  messageId?: string;
  eventId?: string;
  status?: WebhookDeliveryStatus;
  eventType?: string;
}

/** A place in the list: behind this delivery. */
export interface DeliveryPlace {
  eventId: string;
  webhookId: string;
}

export interface DeliveryPage {
  deliveries: WebhookDelivery[];
  /** Null when there is nothing more. */
  next: DeliveryPlace | null;
}

const LIST_START: DeliveryPlace = {
  eventId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  webhookId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
};
const NIL = uuidFloor(0);

/** Of all endpoints together. */
const SCANNED_MAX = 10_000;
/** More than one message can have: fifty recipients, each told of a hundred times. */
const EVENTS_OF_MESSAGE_MAX = 5_000;

export async function listDeliveries(
  pool: Pool,
  scope: Scope,
  filter: DeliveryFilter,
  page: { after: DeliveryPlace | undefined; limit: number },
): Promise<DeliveryPage> {
  const endpoints = await endpointsOf(pool, scope, filter.webhookId);
  if (endpoints.length === 0) return { deliveries: [], next: null };
  const { after = LIST_START, limit } = page;
  const { status, eventType, messageId } = filter;
  // What the index alone finds needs no more rows than the page has.
  const walked = eventType !== undefined || status === 'pending' || status === 'succeeded';
  const scanMax = walked ? Math.max(limit + 1, SCANNED_MAX / endpoints.length) : limit + 1;
  const { rows } = await pool.query<WebhookDelivery & { edge: string | null }>(
    // Not yet filtered by type and status, but for those that failed, which have an index.
    `with scanned as materialized (
       select d.* from unnest($3::uuid[]) w(id) cross join lateral (
         select * from webhook_deliveries d
          where d.workspace_id = $1 and d.mode = $2 and d.webhook_id = w.id and d.event_id <= $4
            and (d.event_id, d.webhook_id) < ($4, $5)
            ${messageId === undefined ? 'and $8::uuid is null and $9::uuid is null' : OF_MESSAGE}
            ${filter.eventId === undefined ? 'and $10::uuid is null' : 'and d.event_id = $10'}
            ${status === 'failed' ? "and d.status = 'failed'" : ''}
          order by d.event_id desc limit $11) d),
     edge as (
       -- Where an endpoint's rows were cut off, the others' must end too.
       select (array_agg(last order by last desc))[1] as id from (
         select (array_agg(event_id order by event_id))[1] as last from scanned
          group by webhook_id having count(*) = $11) cut)
     select ${DELIVERY_COLUMNS}, edge.id as edge
       from edge left join scanned d on (edge.id is null or d.event_id >= edge.id)
        and ($6::text is null or d.status::text = $6) and ($7::text is null or d.event_type = $7)
      order by d.event_id desc, d.webhook_id desc limit $12`,
    [
      scope.workspaceId,
      scope.mode,
      endpoints,
      after.eventId,
      after.webhookId,
      status ?? null,
      eventType ?? null,
      messageId ?? null,
      messageId === undefined ? null : uuidFloor(uuidTime(messageId) - 60_000),
      filter.eventId ?? null,
      Math.floor(scanMax),
      limit + 1,
    ],
  );
  const edge = rows[0]?.edge ?? null;
  const found = rows.filter((row) => row.eventId !== null).map(({ edge: _, ...row }) => row);
  const last = found[limit - 1];
  if (found.length > limit && last) {
    const { eventId, webhookId } = last;
    return { deliveries: found.slice(0, limit), next: { eventId, webhookId } };
  }
  return { deliveries: found, next: edge === null ? null : { eventId: edge, webhookId: NIL } };
}

/** An event is never older than its message: partitions before it are not looked at. */
const OF_MESSAGE = `and d.event_id >= $9 and d.event_id = any(array(
  select e.id from events e where e.workspace_id = $1 and e.mode = $2 and e.message_id = $8
     and e.id >= $9 limit ${EVENTS_OF_MESSAGE_MAX}))`;

async function endpointsOf(
  pool: Pool,
  scope: Scope,
  webhookId: string | undefined,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from webhooks
     where workspace_id = $1 and mode = $2 and ($3::uuid is null or id = $3)`,
    [scope.workspaceId, scope.mode, webhookId ?? null],
  );
  return rows.map((row) => row.id);
}
