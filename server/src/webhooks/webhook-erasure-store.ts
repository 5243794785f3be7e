import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import { uuidRange } from '../lib/ids.ts';

/**
 * Webhook endpoints may have repeated an event's data in their responses, so these are erased. A
 * leased delivery loses its lease: its response is not recorded, and it is sent again without the
 * address. Deleted endpoints have rows too, hence the loose index scan over endpoint ids.
 */
export async function eraseWebhookResponses(
  db: Queryable,
  scope: TenantScope,
  eventIds: readonly string[],
  replacement: string,
  nowMs: number,
): Promise<void> {
  if (eventIds.length === 0) return;
  const values = [scope.workspaceId, scope.mode, eventIds, ...uuidRange(eventIds)];
  await db.query({
    name: 'erasure-webhook-deliveries',
    text: `${ENDPOINTS} update webhook_deliveries d set lease = null, due_at = $6
      from endpoints w where d.workspace_id = $1 and d.mode = $2 and d.webhook_id = w.id
        and d.event_id = any($3) and d.event_id between $4 and $5 and d.lease is not null`,
    values: [...values, sqlTime(nowMs)],
  });
  await db.query({
    name: 'erasure-webhook-first-attempts',
    text: `${ENDPOINTS} update webhook_deliveries d set first_response_body = $6
      from endpoints w where d.workspace_id = $1 and d.mode = $2 and d.webhook_id = w.id
        and d.event_id = any($3) and d.event_id between $4 and $5 and d.first_response_body <> ''`,
    values: [...values, replacement],
  });
  await db.query({
    name: 'erasure-webhook-attempts',
    text: `${ENDPOINTS} update webhook_attempts a set response_body = $6
      from endpoints w where a.workspace_id = $1 and a.mode = $2 and a.webhook_id = w.id
        and a.event_id = any($3) and a.event_id between $4 and $5 and a.response_body <> ''`,
    values: [...values, replacement],
  });
}

const ENDPOINTS = `with recursive endpoints (id) as (
    (select webhook_id from webhook_deliveries where workspace_id = $1 and mode = $2
      order by webhook_id limit 1)
  union all
    select (select d.webhook_id from webhook_deliveries d where d.workspace_id = $1 and d.mode = $2
        and d.webhook_id > e.id order by d.webhook_id limit 1)
      from endpoints e where e.id is not null)`;
