import type { Tables } from './tables.ts';

/**
 * The module that owns each table. Only its files write the table (`npm run check -- boundaries`);
 * others call its functions, or compose a statement with its fragments
 * (docs/decisions/0046-tables-have-one-owner.md).
 */
export const TABLE_OWNERS = {
  workspaces: 'accounts',
  api_keys: 'accounts',
  api_key_secrets: 'accounts',
  ses_credentials: 'accounts',
  people: 'accounts',
  sessions: 'accounts',
  one_time_tokens: 'accounts',
  memberships: 'accounts',
  invitations: 'accounts',
  auth_throttles: 'accounts',
  domains: 'domains',
  domain_keys: 'domains',
  mail_hosts: 'domains',
  templates: 'templates',
  template_versions: 'templates',
  template_publications: 'templates',
  events: 'events',
  event_consumers: 'events',
  idempotency_keys: 'messages',
  message_id_reservations: 'messages',
  messages: 'messages',
  message_contents: 'messages',
  message_attachments: 'messages',
  deliveries: 'messages',
  attempts: 'messages',
  test_inbox: 'messages',
  suppressions: 'suppressions',
  contacts: 'contacts',
  contact_imports: 'contacts',
  contact_import_chunks: 'contacts',
  contact_import_failures: 'contacts',
  erasures: 'privacy',
  receiver_throttles: 'delivery',
  webhooks: 'webhooks',
  webhook_secrets: 'webhooks',
  webhook_deliveries: 'webhooks',
  webhook_attempts: 'webhooks',
  statistics_minute: 'stats',
  statistics_hour: 'stats',
  statistics_day: 'stats',
  alarms: 'stats',
  secret_key_fingerprint: 'db',
  retention_clock: 'db',
  // Created by migrate.ts itself.
  schema_migrations: 'db',
} as const satisfies Record<keyof Tables | 'schema_migrations', string>;
