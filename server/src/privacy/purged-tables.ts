import { ACCESS_PURGES } from '../accounts/account-purge-store.ts';
import { CONTACT_PURGES } from '../contacts/contact-purge-store.ts';
import type { PurgedTable, TenantTable } from '../db/statements/purge-rows.ts';
import { DOMAIN_PURGES } from '../domains/domain-purge-store.ts';
import { EVENT_PURGES } from '../events/event-purge-store.ts';
import { INBOUND_PURGES } from '../inbound/inbound-purge-store.ts';
import { LOG_PURGES } from '../logs/log-purge-store.ts';
import { MESSAGE_PURGES } from '../messages/message-purge-store.ts';
import { BRAKE_PURGES } from '../quotas/brake-store.ts';
import { QUOTA_PURGES } from '../quotas/quota-store.ts';
import { STATS_PURGES } from '../stats/stats-purge-store.ts';
import { STREAM_PURGES } from '../streams/stream-purge-store.ts';
import { SUPPRESSION_PURGES } from '../suppressions/suppression-purge-store.ts';
import { TEMPLATE_PURGES } from '../templates/template-purge-store.ts';
import { WEBHOOK_PURGES } from '../webhooks/webhook-purge-store.ts';
import { ERASURE_PURGES } from './erasure-store.ts';

/**
 * Every table with rows of a workspace, in the order in which they are purged: first who can use it,
 * then its queue, and at the end what follows from events, so that little is written meanwhile.
 */
const ALL = [
  ...ACCESS_PURGES,
  ...MESSAGE_PURGES,
  ...INBOUND_PURGES,
  ...WEBHOOK_PURGES,
  ...EVENT_PURGES,
  ...CONTACT_PURGES,
  ...SUPPRESSION_PURGES,
  ...ERASURE_PURGES,
  ...STREAM_PURGES,
  ...TEMPLATE_PURGES,
  ...DOMAIN_PURGES,
  ...QUOTA_PURGES,
  ...BRAKE_PURGES,
  ...STATS_PURGES,
  ...LOG_PURGES,
] as const;

type Missing = Exclude<TenantTable, (typeof ALL)[number]['table']>;

/** Does not compile while a table with a `workspace_id` is not in the list. */
export const PURGED_TABLES: [Missing] extends [never] ? readonly PurgedTable[] : Missing = ALL;
