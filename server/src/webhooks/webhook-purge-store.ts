import { purgeRows } from '../db/statements/purge-rows.ts';

/** Webhook endpoints and what was delivered to them. */
export const WEBHOOK_PURGES = [
  purgeRows({
    table: 'webhook_secrets',
    delete: 'delete from webhook_secrets d',
    key: ['mode mode', 'webhook_id uuid', 'id uuid'],
  }),
  purgeRows({
    table: 'webhook_attempts',
    delete: 'delete from webhook_attempts d',
    key: ['mode mode', 'webhook_id uuid', 'event_id uuid', 'number smallint'],
    partitionedBy: 'event_id',
  }),
  purgeRows({
    table: 'webhook_deliveries',
    delete: 'delete from webhook_deliveries d',
    key: ['mode mode', 'webhook_id uuid', 'event_id uuid'],
    partitionedBy: 'event_id',
  }),
  purgeRows({
    table: 'webhook_backlogs',
    delete: 'delete from webhook_backlogs d',
    key: ['mode mode', 'webhook_id uuid', 'first_tx bigint', 'first_id uuid'],
  }),
  purgeRows({
    table: 'webhooks',
    delete: 'delete from webhooks d',
    key: ['mode mode', 'id uuid'],
  }),
] as const;
