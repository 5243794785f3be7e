import type { Mode } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type {
  DeliveriesRow,
  IdempotencyKeysRow,
  MessageAttachmentsRow,
  MessageContentsRow,
  MessageIdReservationsRow,
  MessagesRow,
} from '../../db/schema/tables.ts';
import { recordset } from '../../db/statements/recordset.ts';
import { EVENT_COLUMNS, type EventRow, INSERT_EVENTS } from '../../events/events-store.ts';

/**
 * The statement behind every accepted message, and the suppression lookup that some need before it.
 * Many requests share one execution (lib/scheduling/group-commit.ts), so its cost is per group. The statement
 * checks all recipients against the suppression list and inserts all rows in one commit. It leaves
 * out requests with a suppressed recipient; they are submitted again with what was found.
 *
 * Each row carries the index of its request in the group. Few requests are left out, so rows are
 * filtered by that number without a join.
 */

export interface RecipientRef {
  workspace_id: string;
  mode: Mode;
  key: string;
  domain_key: string;
  /**
   * The key under which an erased address stays suppressed (suppressions/erased-address.ts); null
   * while the workspace is not known to have erased an address.
   */
  hash_key: string | null;
  stream: string;
  /** Index of the request in the group. */
  submission: number;
}

const RECIPIENTS = recordset<RecipientRef>({
  workspace_id: 'uuid',
  mode: 'mode',
  key: 'text',
  domain_key: 'text',
  hash_key: 'text',
  stream: 'text',
  submission: 'integer',
});

/**
 * Suppressions s that apply to recipient r, including those of a whole domain; `now` is the number of a
 * parameter.
 */
const suppressionsAt = (
  now: number,
): string => `suppressions s where s.workspace_id = r.workspace_id and s.mode = r.mode
        and s.key in (r.key, r.domain_key, r.hash_key) and (s.stream = '' or s.stream = r.stream)
        and (s.expires_at is null or s.expires_at > $${now})`;

/** Suppression reasons by suppressionKey. */
export async function findSuppressionReasons(
  pool: Pool,
  recipients: readonly RecipientRef[],
  nowMs: number,
): Promise<Map<string, string>> {
  const { rows } = await pool.query<RecipientRef & { reason: string }>({
    name: 'find-suppressed',
    text: `select r.workspace_id, r.mode, r.stream, r.key, s.reason from ${RECIPIENTS.table('r', 2)}
      cross join lateral (select reason from ${suppressionsAt(1)}) s`,
    values: [sqlTime(nowMs), ...RECIPIENTS.parameters(recipients)],
  });
  return new Map(
    rows.map((row) => [
      suppressionKey(row.workspace_id, row.mode, row.stream, row.key),
      row.reason,
    ]),
  );
}

export function suppressionKey(
  workspaceId: string,
  mode: Mode,
  stream: string,
  recipientKey: string,
): string {
  return `${workspaceId}/${mode}/${stream}/${recipientKey}`;
}

/**
 * The rows of a group of requests. All rows of a request are written, or none when its idempotency key
 * already exists.
 */
export interface GroupRows {
  keys: KeyRow[];
  messages: MessageRow[];
  attachments: AttachmentRow[];
  messageIds: MessageIdRow[];
  deliveries: DeliveryRow[];
  events: SubmittedEvent[];
}

/** Index of the request in the group. */
interface GroupMember {
  submission: number;
}

export interface KeyRow
  extends GroupMember,
    Pick<IdempotencyKeysRow, 'workspace_id' | 'mode' | 'key' | 'created_at'> {
  /** Hex. */
  request_hash: string;
  /** Read by the request that finds the key already used. */
  result: string;
}

const KEYS = recordset<KeyRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  key: 'text',
  request_hash: 'text',
  result: 'bytea',
  created_at: 'timestamptz',
  submission: 'integer',
});

export interface MessageRow
  extends GroupMember,
    Pick<
      MessagesRow & MessageContentsRow,
      | 'workspace_id'
      | 'mode'
      | 'id'
      | 'created_at'
      | 'scheduled_at'
      | 'sender'
      | 'sender_name'
      | 'subject'
      | 'template_key'
      | 'template_version'
      | 'stream'
      | 'ttl_seconds'
      | 'api_key_id'
      | 'header_message_id'
      | 'html'
      | 'text'
      | 'encrypted_content'
    > {
  /** In PostgreSQL's array syntax. */
  tags: string;
  metadata: string;
  head: string;
}

const MESSAGES = recordset<MessageRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  id: 'uuid',
  created_at: 'timestamptz',
  scheduled_at: 'timestamptz',
  sender: 'text',
  sender_name: 'text',
  subject: 'text',
  template_key: 'text',
  template_version: 'integer',
  stream: 'text',
  tags: 'text_array',
  metadata: 'json',
  ttl_seconds: 'integer',
  api_key_id: 'uuid',
  header_message_id: 'text',
  head: 'json',
  html: 'text',
  text: 'text',
  encrypted_content: 'bytea',
  submission: 'integer',
});

const CONTENT_COLUMNS = 'workspace_id, mode, id, head, html, text, encrypted_content';
const MESSAGE_COLUMNS = MESSAGES.columns('head', 'html', 'text', 'encrypted_content', 'submission');

export type AttachmentRow = GroupMember &
  Pick<
    MessageAttachmentsRow,
    | 'workspace_id'
    | 'mode'
    | 'message_id'
    | 'ordinal'
    | 'filename'
    | 'content_type'
    | 'content_id'
    | 'content'
  >;

const ATTACHMENTS = recordset<AttachmentRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  message_id: 'uuid',
  ordinal: 'smallint',
  filename: 'text',
  content_type: 'text',
  content_id: 'text',
  content: 'bytea',
  submission: 'integer',
});

/** A Message-ID that no other message of the workspace may have. */
export type MessageIdRow = GroupMember &
  Pick<MessageIdReservationsRow, 'workspace_id' | 'mode' | 'header_message_id' | 'created_at'>;

const MESSAGE_IDS = recordset<MessageIdRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  header_message_id: 'text',
  created_at: 'timestamptz',
  submission: 'integer',
});

export type DeliveryRow = GroupMember &
  Pick<
    DeliveriesRow,
    | 'workspace_id'
    | 'mode'
    | 'message_id'
    | 'ordinal'
    | 'kind'
    | 'recipient'
    | 'recipient_key'
    | 'recipient_name'
    | 'status'
    | 'reason'
    | 'shard'
    | 'due_at'
    | 'lease'
    | 'event_sequence'
    | 'expires_at'
    | 'finished_at'
  >;

const DELIVERIES = recordset<DeliveryRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  message_id: 'uuid',
  ordinal: 'smallint',
  kind: 'recipient_kind',
  recipient: 'text',
  recipient_key: 'text',
  recipient_name: 'text',
  status: 'delivery_status',
  reason: 'text',
  shard: 'smallint',
  due_at: 'timestamptz',
  lease: 'bigint',
  event_sequence: 'smallint',
  expires_at: 'timestamptz',
  finished_at: 'timestamptz',
  submission: 'integer',
});

export interface SubmittedEvent extends EventRow, GroupMember {}

const EVENTS = recordset<SubmittedEvent>({ ...EVENT_COLUMNS, submission: 'integer' });

/** Keys are kept for 24 hours. An older key counts as missing. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

/** The parameters of all groups; those of optional parts follow. */
const MESSAGES_AT = 1;
const DELIVERIES_AT = MESSAGES_AT + MESSAGES.width;
const EVENTS_AT = DELIVERIES_AT + DELIVERIES.width;
const OPTIONAL_AT = EVENTS_AT + EVENTS.width;

/**
 * Parts of the statement that a group may not need. Every table in a statement adds to its cost, and a
 * group of 32 without keys takes a twentieth less time without their part. `sql` gets the number of the
 * first parameter.
 */
const OPTIONAL_PARTS = {
  recipients: { width: 1 + RECIPIENTS.width, sql: checkSuppressions },
  keys: { width: 1 + KEYS.width, sql: insertKeys },
  attachments: { width: ATTACHMENTS.width, sql: insertAttachments },
  messageIds: { width: MESSAGE_IDS.width, sql: insertMessageIds },
};

type OptionalPart = keyof typeof OPTIONAL_PARTS;

/** In the order of their parameters. */
const PART_NAMES = Object.keys(OPTIONAL_PARTS) as OptionalPart[];

/** The first parameter is the current time. */
function checkSuppressions(at: number): string {
  return `concerned as materialized (select r.submission, found.outcome
    from ${RECIPIENTS.table('r', at + 1)} cross join lateral (
      select 'has_suppression' as outcome from ${suppressionsAt(at)}
      union all (select 'needs_address_hash' from suppressions e where r.hash_key is null
        and e.workspace_id = r.workspace_id and e.mode = r.mode and e.key like '#%' limit 1)) found),`;
}

/**
 * The transaction that inserts an idempotency key owns the request. A concurrent transaction with
 * the same key waits here for the first to commit, then inserts nothing. Keys are inserted in
 * order, so that two groups cannot deadlock. The first parameter is the time at which keys expire.
 */
function insertKeys(at: number, parts: readonly OptionalPart[]): string {
  const unconcerned = parts.includes('recipients')
    ? 'where submission not in (select submission from concerned)'
    : '';
  return `keys as materialized (select * from ${KEYS.table('k', at + 1)} ${unconcerned}),
  inserted_keys as (insert into idempotency_keys as old (workspace_id, mode, key, request_hash, result, created_at)
    select workspace_id, mode, key, decode(request_hash, 'hex'), result, created_at
    from keys order by workspace_id, mode, key
    on conflict (workspace_id, mode, key) do update set request_hash = excluded.request_hash,
      result = excluded.result, result_encrypted = false, created_at = excluded.created_at
    where old.created_at < $${at}
    returning workspace_id, mode, key),`;
}

function insertAttachments(at: number): string {
  return `new_attachments as (insert into message_attachments (${ATTACHMENTS.columns('submission')})
    select ${ATTACHMENTS.columns('submission')}
    from ${ATTACHMENTS.table('a', at)} where ${NOT_LEFT_OUT}),`;
}

/**
 * Fails with a unique violation when another node stores the same Message-ID at this moment; older
 * ones were looked up before (message-ids.ts).
 */
function insertMessageIds(at: number): string {
  return `new_message_ids as (insert into message_id_reservations (${MESSAGE_IDS.columns('submission')})
    select ${MESSAGE_IDS.columns('submission')} from ${MESSAGE_IDS.table('i', at)}
    where ${NOT_LEFT_OUT}),`;
}

const NOT_LEFT_OUT = 'submission not in (select submission from left_out)';

function leftOut(parts: readonly OptionalPart[]): string {
  const selects: string[] = [];
  if (parts.includes('recipients')) selects.push('select submission, outcome from concerned');
  if (parts.includes('keys'))
    selects.push(`select submission, 'duplicate_key' as outcome from keys k
      where not exists (select from inserted_keys t
        where t.workspace_id = k.workspace_id and t.mode = k.mode and t.key = k.key)`);
  return selects.join(' union all ') || 'select 0 as submission, null::text as outcome where false';
}

function insertStatement(parts: readonly OptionalPart[]): string {
  let at = OPTIONAL_AT;
  const sql: Partial<Record<OptionalPart, string>> = {};
  for (const part of parts) {
    sql[part] = OPTIONAL_PARTS[part].sql(at, parts);
    at += OPTIONAL_PARTS[part].width;
  }
  const { recipients = '', keys = '', attachments = '', messageIds = '' } = sql;
  return `
  with ${recipients} ${keys}
  left_out as materialized (${leftOut(parts)}),
  m as materialized (select * from ${MESSAGES.table('m', MESSAGES_AT)} where ${NOT_LEFT_OUT}),
  new_messages as (insert into messages (${MESSAGE_COLUMNS}) select ${MESSAGE_COLUMNS} from m),
  new_contents as (insert into message_contents (${CONTENT_COLUMNS})
    select ${CONTENT_COLUMNS} from m),
  ${attachments} ${messageIds}
  new_deliveries as (insert into deliveries (${DELIVERIES.columns('submission')})
    select ${DELIVERIES.columns('submission')}
    from ${DELIVERIES.table('d', DELIVERIES_AT)} where ${NOT_LEFT_OUT}),
  new_events as (${INSERT_EVENTS}
    select workspace_id, mode, event_log_tx(), id, type, created_at, message_id,
      sequence, data
    from ${EVENTS.table('e', EVENTS_AT)} where ${NOT_LEFT_OUT})
  select submission, outcome from left_out`;
}

/** The statements composed so far, by their parts. */
const statements = new Map<string, string>();

/**
 * `duplicate_key`: the idempotency key was already used. `has_suppression`: a recipient is
 * suppressed. `needs_address_hash`: the workspace has erased an address, and the recipients came
 * without the hashes to check against it.
 */
export type InsertOutcome = 'written' | 'duplicate_key' | 'has_suppression' | 'needs_address_hash';

/**
 * Returns the outcome of each of the `count` submissions. A submission that is not `written` left no
 * rows. `recipients` are those whose suppressions have not been looked up yet.
 */
export async function insertSubmissions(
  pool: Pool,
  group: GroupRows,
  count: number,
  recipients: readonly RecipientRef[],
  nowMs: number,
): Promise<InsertOutcome[]> {
  const { keys, messages, attachments, messageIds, deliveries, events } = group;
  const optional: Record<OptionalPart, readonly unknown[]> = {
    recipients,
    keys,
    attachments,
    messageIds,
  };
  const parts = PART_NAMES.filter((part) => optional[part].length > 0);
  const name = ['insert-submissions', ...parts].join('-');
  const text = statements.get(name) ?? insertStatement(parts);
  statements.set(name, text);
  const { rows } = await pool.query<{ submission: number; outcome: InsertOutcome }>({
    name,
    text,
    values: [
      ...MESSAGES.parameters(messages),
      ...DELIVERIES.parameters(deliveries),
      ...EVENTS.parameters(events),
      ...(recipients.length > 0 ? [sqlTime(nowMs), ...RECIPIENTS.parameters(recipients)] : []),
      ...(keys.length > 0 ? [sqlTime(nowMs - IDEMPOTENCY_MS), ...KEYS.parameters(keys)] : []),
      ...(attachments.length > 0 ? ATTACHMENTS.parameters(attachments) : []),
      ...(messageIds.length > 0 ? MESSAGE_IDS.parameters(messageIds) : []),
    ],
  });
  const outcomes: InsertOutcome[] = Array(count).fill('written');
  for (const { submission, outcome } of rows) outcomes[submission] = outcome;
  return outcomes;
}
