/**
 * Generated from the migrations by `npm run generate`: the columns of each table, as queries return
 * them (row-types.ts).
 */

export type Mode = 'live' | 'test';

export type RecipientKind = 'to' | 'cc' | 'bcc';

export type DeliveryStatus =
  | 'scheduled'
  | 'queued'
  | 'deferred'
  | 'delivered'
  | 'bounced'
  | 'expired'
  | 'failed'
  | 'cancelled'
  | 'suppressed';

export type WebhookDeliveryStatus = 'pending' | 'succeeded' | 'failed';

export interface AlarmsRow {
  workspace_id: string;
  mode: Mode;
  kind: string;
  subject: string;
  raised_at: number;
}

export interface ApiKeySecretsRow {
  token_hash: Buffer;
  workspace_id: string;
  key_id: string;
  expires_at: number | null;
}

export interface ApiKeysRow {
  workspace_id: string;
  id: string;
  mode: Mode;
  name: string;
  scopes: string[];
  allowed_domains: string[];
  allowed_ips: string[];
  allowed_streams: string[];
  token_hint: string;
  created_by: string;
  created_at: number;
  expires_at: number | null;
  expiry_notified_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

export interface ArchivedContentsRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  pack_id: string;
  pack_offset: number;
  length: number;
  encryption_key: Buffer;
  is_redacted: boolean;
}

export interface AttemptsRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  number: number;
  started_at: number;
  finished_at: number;
  outcome: string;
  bounce: unknown;
  smtp: unknown;
  transcript: string | null;
  node: string | null;
  warm_up_sender: string | null;
  warm_up_provider: string | null;
}

export interface AuditIntentsRow {
  id: string;
  created_at: number;
  change: unknown;
}

export interface AuditLogRow {
  workspace_id: string;
  id: string;
  created_at: number;
  mode: Mode | null;
  action: string;
  actor_type: 'api_key' | 'user' | 'operator_key' | 'cli';
  actor_id: string | null;
  target: string | null;
  request_id: string | null;
  ip: string | null;
  user_agent: string | null;
  outcome: 'succeeded' | 'unknown';
  details: unknown;
}

export interface AuthThrottlesRow {
  subject: Buffer;
  attempts: number;
  last_attempt_at: number;
  blocked_until: number;
}

export interface BrakesRow {
  workspace_id: string;
  slow_bounce_rate: number | null;
  pause_bounce_rate: number | null;
  slow_complaint_rate: number | null;
  pause_complaint_rate: number | null;
  probation_ends_at: number | null;
  state: 'slowed' | 'paused' | null;
  since: number | null;
  evidence: unknown;
  judged_from: number | null;
}

export interface ContactImportChunksRow {
  workspace_id: string;
  mode: Mode;
  import_id: string;
  ordinal: number;
  content: Buffer;
}

export interface ContactImportFailuresRow {
  workspace_id: string;
  mode: Mode;
  import_id: string;
  line: number;
  field: string | null;
  code: string;
  detail: string;
}

export interface ContactImportsRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  format: string;
  status: string;
  columns: unknown;
  bytes_total: number;
  bytes_done: number;
  lines: number;
  in_skipped_line: boolean;
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
  failed_batches: number;
  created_by: string;
  created_at: number;
  last_progress_at: number;
  finished_at: number | null;
}

export interface ContactSubscriptionsRow {
  workspace_id: string;
  mode: Mode;
  email_key: string;
  stream: string;
  status: 'subscribed' | 'unsubscribed';
  changed_at: number;
  source: 'api' | 'dashboard' | 'import' | 'page' | 'one_click' | 'mail';
}

export interface ContactsRow {
  workspace_id: string;
  mode: Mode;
  email_key: string;
  id: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
  locale: string | null;
  attributes: unknown;
  created_at: number;
  updated_at: number;
}

export interface ContentPacksRow {
  id: string;
  day: number;
  expires_with: string;
  bytes: number;
  created_at: number;
  stored_at: number | null;
}

export interface DeliveriesRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  kind: RecipientKind;
  recipient: string;
  recipient_key: string;
  recipient_name: string | null;
  status: DeliveryStatus;
  reason: string | null;
  shard: number;
  due_at: number | null;
  lease: number | null;
  attempts: number;
  delivery_cycles: number;
  event_sequence: number;
  expires_at: number;
  smtp: unknown;
  bounce: unknown;
  finished_at: number | null;
  complained_at: number | null;
}

export interface DomainKeysRow {
  workspace_id: string;
  domain_id: string;
  selector: string;
  algorithm: 'rsa' | 'ed25519';
  slot: 'current' | 'next' | 'retired';
  dns_value: string;
  encrypted_private_key: Buffer | null;
  created_at: number;
  retired_at: number | null;
}

export interface DomainsRow {
  workspace_id: string;
  id: string;
  name: string;
  status: 'pending' | 'verified' | 'degraded' | 'failed';
  trusted: boolean;
  ownership_token: string;
  return_path_host: string;
  tracking_host: string | null;
  tls: 'opportunistic' | 'required';
  track_opens: boolean;
  track_clicks: boolean;
  checks: unknown;
  created_at: number;
  verified_at: number | null;
  checked_at: number | null;
  check_due_at: number | null;
  receiving: boolean;
}

export interface EmailChangesRow {
  id: string;
  person_id: string;
  email: string;
  email_key: string;
  previous_email: string | null;
  previous_email_key: string | null;
  token_hash: Buffer;
  expires_at: number;
  notice_due_at: number | null;
  previous_email_verified_at: number | null;
}

export interface ErasuresRow {
  workspace_id: string;
  mode: Mode;
  email_key: string;
  requested_at: number;
  contacts: number;
  messages: number;
  attempts: number;
  events: number;
  events_cursor: string | null;
  requests_cursor: string | null;
}

export interface EventChunksRow {
  consumer: string;
  after_tx: number;
  after_id: string;
  last_tx: number;
  last_id: string;
  events: number;
  attempt: number;
  due_at: number;
}

export interface EventConsumersRow {
  name: string;
  tx: number;
  id: string;
}

export interface EventsRow {
  workspace_id: string;
  mode: Mode;
  tx: number;
  id: string;
  type: string;
  created_at: number;
  message_id: string | null;
  sequence: number | null;
  data: unknown;
}

export interface IdempotencyKeysRow {
  workspace_id: string;
  mode: Mode;
  key: string;
  request_hash: Buffer;
  result: Buffer | null;
  result_encrypted: boolean;
  created_at: number;
}

export interface InboundAddressesRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  address_key: string;
  is_sender: boolean;
  is_recipient: boolean;
}

export interface InboundContentsRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  raw: Buffer;
}

export interface InboundMessagesRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  received_at: number;
  domain: string;
  mail_from: string;
  recipients: string[];
  sender: string | null;
  sender_name: string | null;
  subject: string;
  header_message_id: string | null;
  in_reply_to_message_id: string | null;
  size: number;
  fingerprint: Buffer;
  details: unknown;
}

export interface InstallationRow {
  singleton: boolean;
  base_url: string;
}

export interface InvitationsRow {
  workspace_id: string;
  id: string;
  email: string;
  email_key: string;
  role: 'owner' | 'admin' | 'developer' | 'viewer';
  token_hash: Buffer;
  invited_by: string | null;
  created_at: number;
  expires_at: number;
  accepted_at: number | null;
  revoked_at: number | null;
  message_id: string | null;
}

export interface LateContentsRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  due_at: number;
}

export interface LeaseHoldersRow {
  id: number;
  queue: 'deliveries' | 'webhook-deliveries';
  name: string;
  heartbeats: number;
}

export interface MailHostsRow {
  singleton: boolean;
  bounce_host: string;
  spf_mechanism: string;
  tracking_target: string;
}

export interface MembershipsRow {
  workspace_id: string;
  person_id: string;
  role: 'owner' | 'admin' | 'developer' | 'viewer';
  created_at: number;
}

export interface MessageAttachmentsRow {
  workspace_id: string;
  mode: Mode;
  message_id: string;
  ordinal: number;
  filename: string;
  content_type: string;
  content_id: string | null;
  content: Buffer;
}

export interface MessageContentsRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  head: unknown;
  html: string;
  text: string | null;
  signature: string | null;
  encrypted_content: Buffer | null;
}

export interface MessageIdReservationsRow {
  workspace_id: string;
  mode: Mode;
  header_message_id: string;
  created_at: number;
}

export interface MessagesRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  created_at: number;
  scheduled_at: number | null;
  sender: string;
  sender_name: string | null;
  subject: string;
  template_key: string | null;
  template_version: number | null;
  stream: string;
  tags: string[];
  metadata: unknown;
  ttl_seconds: number | null;
  api_key_id: string | null;
  header_message_id: string | null;
}

export interface MovedMembersRow {
  person_id: string;
  moved_id: string;
}

export interface MovedSecretsRow {
  token_hash: Buffer;
  moved_id: string;
  expires_at: number | null;
}

export interface MovedWorkspacesRow {
  id: string;
  name: string;
  url: string | null;
  moved_at: number;
}

export interface OidcConnectionsRow {
  workspace_id: string;
  managed_by: 'workspace' | 'server';
  name: string;
  issuer: string;
  client_id: string;
  encrypted_client_secret: Buffer;
  groups_claim: string;
  group_roles: unknown;
  default_role: 'admin' | 'developer' | 'viewer' | null;
  is_enforced: boolean;
  updated_at: number;
}

export interface OidcIdentitiesRow {
  workspace_id: string;
  issuer: string;
  subject: string;
  person_id: string;
  created_at: number;
}

export interface OneTimeTokensRow {
  token_hash: Buffer;
  person_id: string;
  purpose: 'password_reset' | 'second_factor' | 'passkey';
  expires_at: number;
}

export interface OperatorKeysRow {
  id: string;
  name: string;
  token_hash: Buffer;
  token_hint: string;
  allowed_ips: string[];
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

export interface PasskeysRow {
  person_id: string;
  id: string;
  credential_id: Buffer;
  public_key: Buffer;
  counter: number;
  transports: string[];
  name: string;
  is_backed_up: boolean;
  created_at: number;
  last_used_at: number | null;
}

export interface PeopleRow {
  id: string;
  email: string;
  email_key: string;
  name: string;
  password_hash: string | null;
  totp_secret: Buffer | null;
  totp_confirmed_at: number | null;
  totp_step: number | null;
  recovery_hashes: Buffer[];
  created_at: number;
  delete_at: number | null;
  is_instance_owner: boolean;
  deletion_email_due_at: number | null;
  email_verified_at: number | null;
}

export interface QuotaLeasesRow {
  workspace_id: string;
  hour: number;
  leased: number;
}

export interface QuotaNoticesRow {
  workspace_id: string;
  notice: string;
  period_start: number;
}

export interface QuotasRow {
  workspace_id: string;
  messages_per_hour: number | null;
  messages_per_day: number | null;
  messages_per_month: number | null;
  recipients_per_message: number | null;
  contacts: number | null;
  content_bytes: number | null;
  requests_per_second: number | null;
  warn_at_percent: number;
}

export interface ReceiverThrottlesRow {
  receiver: string;
  level: number;
  paused_until: number;
}

export interface RequestLogRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  method: string;
  path: string;
  operation: string | null;
  status: number;
  duration_ms: number;
  actor: string;
  ip: string;
  user_agent: string;
  message_id: string | null;
  problem: unknown;
  query: unknown;
  body: unknown;
}

export interface RetentionClockRow {
  singleton: boolean;
  last_seen_at: number;
  jump_seen_at: number | null;
}

export interface SecretKeyFingerprintRow {
  singleton: boolean;
  fingerprint: Buffer;
}

export interface SesCredentialsRow {
  access_key_id: string;
  workspace_id: string;
  key_id: string;
  encrypted_secret: Buffer;
  created_by: string;
  created_at: number;
}

export interface SessionsRow {
  token_hash: Buffer;
  id: string;
  person_id: string;
  created_at: number;
  last_seen_at: number;
  expires_at: number;
  revoked_at: number | null;
  ip: string;
  source: string;
  user_agent: string;
  workspace_id: string | null;
  is_limited: boolean;
  id_token: Buffer | null;
}

export interface StatisticsAppendedRow {
  workspace_id: string;
  mode: Mode;
  at: number;
  messages: number | null;
  delivered: number | null;
  bounced: number | null;
  bounced_later: number | null;
  complained: number | null;
  failed: number | null;
  expired: number | null;
  counts: unknown;
}

export interface StatisticsDayRow {
  workspace_id: string;
  mode: Mode;
  dimension: string;
  at: number;
  value: string;
  counter: string;
  n: number;
}

export interface StatisticsDaysRow {
  workspace_id: string;
  mode: Mode;
  at: number;
  messages: number | null;
  accepted: number | null;
  content_bytes: number | null;
  delivered: number | null;
  bounced: number | null;
  bounced_later: number | null;
  complained: number | null;
  failed: number | null;
  expired: number | null;
  totals: unknown;
  streams: unknown;
  tags: unknown;
  templates: unknown;
  domains: unknown;
  receivers: unknown;
}

export interface StatisticsHourRow {
  workspace_id: string;
  mode: Mode;
  dimension: string;
  at: number;
  value: string;
  counter: string;
  n: number;
}

export interface StatisticsHoursRow {
  workspace_id: string;
  mode: Mode;
  at: number;
  messages: number | null;
  accepted: number | null;
  content_bytes: number | null;
  delivered: number | null;
  bounced: number | null;
  bounced_later: number | null;
  complained: number | null;
  failed: number | null;
  expired: number | null;
  totals: unknown;
  streams: unknown;
  tags: unknown;
  templates: unknown;
  domains: unknown;
  receivers: unknown;
}

export interface StatisticsMinuteRow {
  workspace_id: string;
  mode: Mode;
  dimension: string;
  at: number;
  value: string;
  counter: string;
  n: number;
}

export interface StatisticsMinutesRow {
  workspace_id: string;
  mode: Mode;
  hour: number;
  id: string;
  totals: unknown;
  streams: unknown;
  tags: unknown;
  templates: unknown;
  domains: unknown;
  receivers: unknown;
}

export interface StatisticsRecentRow {
  workspace_id: string;
  mode: Mode;
  at: number;
  messages: number | null;
  accepted: number | null;
  content_bytes: number | null;
  delivered: number | null;
  bounced: number | null;
  bounced_later: number | null;
  complained: number | null;
  failed: number | null;
  expired: number | null;
  totals: unknown;
  streams: unknown;
  tags: unknown;
  templates: unknown;
  domains: unknown;
  receivers: unknown;
}

export interface StreamsRow {
  workspace_id: string;
  key: string;
  name: string;
  purpose: 'transactional' | 'subscription';
  track_opens: boolean | null;
  track_clicks: boolean | null;
  brand_name: string | null;
  brand_logo_url: string | null;
  brand_color: string | null;
  from_email: string | null;
  from_name: string | null;
  route: string | null;
  messages_per_minute: number | null;
  content_retention_days: number | null;
  content_checked_at: number | null;
  live_content_cursor: string | null;
  test_content_cursor: string | null;
  created_at: number;
  updated_at: number;
}

export interface SuppressionsRow {
  workspace_id: string;
  mode: Mode;
  key: string;
  stream: string;
  id: string;
  email: string | null;
  domain: string | null;
  reason: string;
  evidence: unknown;
  note: string | null;
  created_at: number;
  expires_at: number | null;
}

export interface TemplatePublicationsRow {
  workspace_id: string;
  kind: string;
  key: string;
  ordinal: number;
  version: number;
  published_at: number;
  published_by: string;
  note: string | null;
}

export interface TemplateVersionsRow {
  workspace_id: string;
  kind: string;
  key: string;
  version: number;
  content: unknown;
  content_hash: Buffer;
  layout: string | null;
  partials: string[];
}

export interface TemplatesRow {
  workspace_id: string;
  kind: 'template' | 'layout' | 'partial';
  key: string;
  id: string;
  name: string;
  draft: unknown;
  draft_revision: number;
  draft_hash: Buffer;
  draft_subject: string | null;
  draft_locales: string[];
  draft_layout: string | null;
  draft_partials: string[];
  published_version: number | null;
  last_version: number;
  created_at: number;
  updated_at: number;
  updated_by: string;
}

export interface TestInboxRow {
  workspace_id: string;
  message_id: string;
  arrived_at: number;
  consumed_at: number | null;
}

export interface UsedSignInsRow {
  secret_hash: Buffer;
  expires_at: number;
}

export interface WarmUpsRow {
  sender: string;
  provider: string;
  starts_at: number;
  day: number;
  plan_day: number;
  leased: number;
  refused: number;
  overflowed: number;
}

export interface WebhookAttemptsRow {
  workspace_id: string;
  mode: Mode;
  webhook_id: string;
  event_id: string;
  number: number;
  started_at: number;
  duration_ms: number;
  url: string;
  headers: unknown;
  response_status: number | null;
  response_body: string | null;
  error: string | null;
}

export interface WebhookBacklogsRow {
  workspace_id: string;
  mode: Mode;
  webhook_id: string;
  first_tx: number;
  first_id: string;
  last_tx: number;
  last_id: string;
  events: number;
  due_at: number;
}

export interface WebhookDeliveriesRow {
  workspace_id: string;
  mode: Mode;
  webhook_id: string;
  event_id: string;
  event_tx: number;
  event_type: string;
  status: WebhookDeliveryStatus;
  due_at: number | null;
  lease: number | null;
  attempts: number;
  cycle_attempts: number;
  created_at: number;
  finished_at: number | null;
  last_response_status: number | null;
  last_error: string | null;
  first_started_at: number | null;
  first_duration_ms: number | null;
  first_url: string | null;
  first_headers: unknown;
  first_response_status: number | null;
  first_response_body: string | null;
  first_error: string | null;
}

export interface WebhookSecretsRow {
  workspace_id: string;
  mode: Mode;
  webhook_id: string;
  id: string;
  encrypted_secret: Buffer;
  public_key: string | null;
  expires_at: number | null;
}

export interface WebhooksRow {
  workspace_id: string;
  mode: Mode;
  id: string;
  url: string;
  events: string[];
  streams: string[];
  description: string;
  format: string;
  enabled: boolean;
  encrypted_headers: Buffer | null;
  since_tx: number;
  revision: number;
  failing_since: number | null;
  disabled_at: number | null;
  disabled_reason: string | null;
  created_at: number;
  updated_at: number;
}

export interface WorkspacePurgesRow {
  id: string;
  requested_at: number;
  started_at: number;
  pass_due_at: number;
  deleted_rows: unknown;
  finished_at: number | null;
}

export interface WorkspacesRow {
  id: string;
  name: string;
  created_at: number;
  suspended_at: number | null;
  suspension_reason: string | null;
  origin_id: string | null;
  deletion_requested_at: number | null;
  delete_at: number | null;
  purge_started_at: number | null;
}

export interface Tables {
  alarms: AlarmsRow;
  api_key_secrets: ApiKeySecretsRow;
  api_keys: ApiKeysRow;
  archived_contents: ArchivedContentsRow;
  attempts: AttemptsRow;
  audit_intents: AuditIntentsRow;
  audit_log: AuditLogRow;
  auth_throttles: AuthThrottlesRow;
  brakes: BrakesRow;
  contact_import_chunks: ContactImportChunksRow;
  contact_import_failures: ContactImportFailuresRow;
  contact_imports: ContactImportsRow;
  contact_subscriptions: ContactSubscriptionsRow;
  contacts: ContactsRow;
  content_packs: ContentPacksRow;
  deliveries: DeliveriesRow;
  domain_keys: DomainKeysRow;
  domains: DomainsRow;
  email_changes: EmailChangesRow;
  erasures: ErasuresRow;
  event_chunks: EventChunksRow;
  event_consumers: EventConsumersRow;
  events: EventsRow;
  idempotency_keys: IdempotencyKeysRow;
  inbound_addresses: InboundAddressesRow;
  inbound_contents: InboundContentsRow;
  inbound_messages: InboundMessagesRow;
  installation: InstallationRow;
  invitations: InvitationsRow;
  late_contents: LateContentsRow;
  lease_holders: LeaseHoldersRow;
  mail_hosts: MailHostsRow;
  memberships: MembershipsRow;
  message_attachments: MessageAttachmentsRow;
  message_contents: MessageContentsRow;
  message_id_reservations: MessageIdReservationsRow;
  messages: MessagesRow;
  moved_members: MovedMembersRow;
  moved_secrets: MovedSecretsRow;
  moved_workspaces: MovedWorkspacesRow;
  oidc_connections: OidcConnectionsRow;
  oidc_identities: OidcIdentitiesRow;
  one_time_tokens: OneTimeTokensRow;
  operator_keys: OperatorKeysRow;
  passkeys: PasskeysRow;
  people: PeopleRow;
  quota_leases: QuotaLeasesRow;
  quota_notices: QuotaNoticesRow;
  quotas: QuotasRow;
  receiver_throttles: ReceiverThrottlesRow;
  request_log: RequestLogRow;
  retention_clock: RetentionClockRow;
  secret_key_fingerprint: SecretKeyFingerprintRow;
  ses_credentials: SesCredentialsRow;
  sessions: SessionsRow;
  statistics_appended: StatisticsAppendedRow;
  statistics_day: StatisticsDayRow;
  statistics_days: StatisticsDaysRow;
  statistics_hour: StatisticsHourRow;
  statistics_hours: StatisticsHoursRow;
  statistics_minute: StatisticsMinuteRow;
  statistics_minutes: StatisticsMinutesRow;
  statistics_recent: StatisticsRecentRow;
  streams: StreamsRow;
  suppressions: SuppressionsRow;
  template_publications: TemplatePublicationsRow;
  template_versions: TemplateVersionsRow;
  templates: TemplatesRow;
  test_inbox: TestInboxRow;
  used_sign_ins: UsedSignInsRow;
  warm_ups: WarmUpsRow;
  webhook_attempts: WebhookAttemptsRow;
  webhook_backlogs: WebhookBacklogsRow;
  webhook_deliveries: WebhookDeliveriesRow;
  webhook_secrets: WebhookSecretsRow;
  webhooks: WebhooksRow;
  workspace_purges: WorkspacePurgesRow;
  workspaces: WorkspacesRow;
}
