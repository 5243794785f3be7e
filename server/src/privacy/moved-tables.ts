import type { TenantTable } from '../db/statements/purge-rows.ts';

/**
 * How each table moves with a workspace, in the order of their foreign keys.
 *
 * - `history`: rows that no server of the target acts on. Copied in advance, and again at the end.
 * - `queue`: like `history`, but what is not finished is copied only while it is parked.
 * - `switch`: rows that servers act on: jobs, settings and access. Copied in one transaction with the
 *   activation of the workspace at the target, so these tables should be small.
 * - `person`: like `switch`, with the person replaced by the one who has the same address.
 * - `none`: not moved.
 */
type Way = 'history' | 'queue' | 'switch' | 'person' | 'none';

/** Does not compile while a table with a `workspace_id` is missing. */
const WAYS: Readonly<Record<TenantTable, Way>> = {
  messages: 'history',
  message_contents: 'history',
  message_attachments: 'history',
  attempts: 'history',
  events: 'history',
  test_inbox: 'history',
  inbound_messages: 'history',
  inbound_addresses: 'history',
  inbound_contents: 'history',
  webhook_attempts: 'history',
  request_log: 'history',
  audit_log: 'history',
  templates: 'history',
  template_versions: 'history',
  template_publications: 'history',
  contacts: 'history',
  contact_subscriptions: 'history',
  suppressions: 'history',
  streams: 'history',
  statistics_minutes: 'history',
  statistics_hours: 'history',
  statistics_days: 'history',
  statistics_minute: 'history',
  statistics_hour: 'history',
  statistics_day: 'history',
  idempotency_keys: 'history',
  message_id_reservations: 'history',

  deliveries: 'queue',
  webhook_deliveries: 'queue',

  domains: 'switch',
  domain_keys: 'switch',
  quotas: 'switch',
  quota_notices: 'switch',
  brakes: 'switch',
  alarms: 'switch',
  late_contents: 'switch',
  erasures: 'switch',
  contact_imports: 'switch',
  contact_import_chunks: 'switch',
  contact_import_failures: 'switch',
  webhooks: 'switch',
  webhook_secrets: 'switch',
  webhook_backlogs: 'switch',
  api_keys: 'switch',
  api_key_secrets: 'switch',
  ses_credentials: 'switch',
  invitations: 'switch',
  oidc_connections: 'switch',

  memberships: 'person',
  oidc_identities: 'person',

  // Closing the workspace adds them to the others (close-workspace.ts).
  statistics_appended: 'none',
  statistics_recent: 'none',
  // Members sign in again.
  sessions: 'none',
  // What servers of the source have leased and not used is not used any more. The statistics have counted
  // all messages by then, and the first lease at the target starts with their count.
  quota_leases: 'none',
  // Their contents are in the bucket of the source: such a workspace is refused.
  archived_contents: 'none',
};

export function tablesThatMove(way: Exclude<Way, 'none'>): TenantTable[] {
  return (Object.keys(WAYS) as TenantTable[]).filter((table) => WAYS[table] === way);
}
