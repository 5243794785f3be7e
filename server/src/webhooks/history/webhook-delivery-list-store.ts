import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import type { WebhookDeliveryStatus } from '../../db/schema/tables.ts';
import { LAST_UUID, uuidFloor, uuidTime } from '../../lib/ids.ts';
import { DELIVERY_COLUMNS, type WebhookDelivery } from './webhook-history-store.ts';

/**
 * Lists webhook deliveries of one or all endpoints, newest event first. A request scans a bounded
 * number of rows: with a selective filter a page may be short and still have a next one.
 */

export interface DeliveryFilter {
  webhookId?: string;
  messageId?: string;
  eventId?: string;
  status?: WebhookDeliveryStatus;
  eventType?: string;
}

/** A position in the list: right after this delivery. */
export interface DeliveryCursor {
  eventId: string;
  webhookId: string;
}

export interface DeliveryPage {
  deliveries: WebhookDelivery[];
  /** Null on the last page. */
  next: DeliveryCursor | null;
}

const LIST_START: DeliveryCursor = {
  eventId: LAST_UUID,
  webhookId: LAST_UUID,
};
const NIL = uuidFloor(0);

/** Rows scanned per request, over all endpoints. */
const SCAN_MAX = 10_000;
/** More than a message can have: fifty recipients with a hundred events each. */
const EVENTS_OF_MESSAGE_MAX = 5_000;

export async function listDeliveries(
  pool: Pool,
  scope: TenantScope,
  filter: DeliveryFilter,
  page: { after: DeliveryCursor | undefined; limit: number },
): Promise<DeliveryPage> {
  const endpoints = await endpointIds(pool, scope, filter.webhookId);
  if (endpoints.length === 0) return { deliveries: [], next: null };
  const { after = LIST_START, limit } = page;
  const { status, eventType, messageId } = filter;
  const scanMax = scansDeliveries(filter)
    ? Math.max(limit + 1, SCAN_MAX / endpoints.length)
    : limit + 1;
  const { rows } = await pool.query<WebhookDelivery & { edge: string | null }>(
    // Type and status are filtered later, except for failed deliveries, which have an index.
    `with scanned as materialized (
       select d.* from unnest($3::uuid[]) w(id) cross join lateral (
         select * from webhook_deliveries d
          where d.workspace_id = $1 and d.mode = $2 and d.webhook_id = w.id and d.event_id <= $4
            and (d.event_id, d.webhook_id) < ($4, $5)
            ${messageId === undefined ? 'and $8::uuid is null and $9::uuid is null' : MESSAGE_FILTER}
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

/** Whether more rows than a page are examined, because no index finds them. */
export function scansDeliveries({ status, eventType }: DeliveryFilter): boolean {
  return eventType !== undefined || status === 'pending' || status === 'succeeded';
}

/** An event is never older than its message, so earlier partitions are pruned. */
const MESSAGE_FILTER = `and d.event_id >= $9 and d.event_id = any(array(
  select e.id from events e where e.workspace_id = $1 and e.mode = $2 and e.message_id = $8
     and e.id >= $9 limit ${EVENTS_OF_MESSAGE_MAX}))`;

async function endpointIds(
  pool: Pool,
  scope: TenantScope,
  webhookId: string | undefined,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from webhooks
     where workspace_id = $1 and mode = $2 and ($3::uuid is null or id = $3)`,
    [scope.workspaceId, scope.mode, webhookId ?? null],
  );
  return rows.map((row) => row.id);
}
