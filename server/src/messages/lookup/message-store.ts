import type { Mode, TenantScope } from '../../accounts/tenant-scope.ts';
import { channel } from '../../db/connections/notification-channels.ts';
import type { Pool, Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { MessagesRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { Bounce, SmtpFacts } from '../../events/event-types.ts';
import type { RecipientKind } from '../accept/accepted-message.ts';
import type { DeliveryStatus } from '../message-status.ts';
import { SYSTEM_TAG } from '../system-tag.ts';

/** Reads and changes stored messages. */

export interface StoredMessage {
  id: string;
  mode: Mode;
  createdAtMs: number;
  scheduledAtMs: number | null;
  sender: string;
  senderName: string | null;
  subject: string;
  templateKey: string | null;
  templateVersion: number | null;
  stream: string;
  tags: string[];
  metadata: Record<string, string>;
  ttlSeconds: number | null;
  /** The caller's own Message-ID; null for a generated one. */
  headerMessageId: string | null;
  deliveries: StoredDelivery[];
}

export interface StoredDelivery {
  ordinal: number;
  kind: RecipientKind;
  recipient: string;
  name: string | null;
  status: DeliveryStatus;
  reason: string | null;
  attempts: number;
  /** For a leased delivery the end of the lease, which is not shown. */
  due_at: string | null;
  leased: boolean;
  finished_at: string | null;
  complained_at: string | null;
  smtp: SmtpFacts | null;
  bounce: Bounce | null;
}

const MESSAGE = selectList<MessagesRow, Omit<StoredMessage, 'deliveries'>>(
  {
    id: 'id',
    mode: 'mode',
    createdAtMs: 'created_at',
    scheduledAtMs: 'scheduled_at',
    sender: 'sender',
    senderName: 'sender_name',
    subject: 'subject',
    templateKey: 'template_key',
    templateVersion: 'template_version',
    stream: 'stream',
    tags: 'tags',
    metadata: 'metadata',
    ttlSeconds: 'ttl_seconds',
    headerMessageId: 'header_message_id',
  },
  'm',
);

const DELIVERIES = `(select json_agg(json_build_object('ordinal', d.ordinal, 'kind', d.kind,
    'recipient', d.recipient, 'name', d.recipient_name, 'status', d.status, 'reason', d.reason,
    'attempts', d.attempts, 'due_at', d.due_at, 'leased', d.lease is not null,
    'finished_at', d.finished_at, 'complained_at', d.complained_at, 'smtp', d.smtp,
    'bounce', d.bounce) order by d.ordinal)
  from deliveries d
  where d.workspace_id = m.workspace_id and d.mode = m.mode and d.message_id = m.id) as deliveries`;

export async function findMessage(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<StoredMessage | undefined> {
  const { rows } = await db.query<StoredMessage>({
    name: 'find-message',
    text: `select ${MESSAGE}, ${DELIVERIES} from messages m
      where m.workspace_id = $1 and m.mode = $2 and m.id = $3`,
    values: [scope.workspaceId, scope.mode, id],
  });
  return rows[0];
}

export async function findMessages(
  db: Queryable,
  scope: TenantScope,
  ids: readonly string[],
): Promise<StoredMessage[]> {
  const { rows } = await db.query<StoredMessage>({
    name: 'find-messages',
    text: `select ${MESSAGE}, ${DELIVERIES} from messages m
      where m.workspace_id = $1 and m.mode = $2 and m.id = any($3) order by m.id desc`,
    values: [scope.workspaceId, scope.mode, ids],
  });
  return rows;
}

export interface ScannedMessage {
  id: string;
  statuses: DeliveryStatus[];
  /** Empty unless requested. */
  receivers: { recipient: string; mx: string | null }[];
}

export interface MessageFilter {
  recipientKey?: string;
  /** A Message-ID that the caller chose. `recipientKey` is ignored with it. */
  headerMessageId?: string;
  /** Domains are lower-case. */
  senderDomain?: string;
  recipientDomain?: string;
  /** System mail is left out unless its tag is given. */
  tag?: string;
  templateKey?: string;
  /** Of at least one recipient. */
  deliveryStatus?: DeliveryStatus;
  /** Why a recipient did not get the message, or not yet. */
  reason?: string;
  /** Whether a recipient complained about the message. */
  complained?: boolean;
  apiKeyId?: string;
  stream?: string;
  metadata?: Record<string, string>;
  searchTerms?: string[];
  includeReceivers?: boolean;
}

export interface MessageScan {
  beforeId: string;
  sinceId: string;
  /** How many messages are examined, and how many matches are returned. */
  scanMax: number;
  matchesMax: number;
}

/**
 * Scans at most `scanMax` messages before `beforeId`, newest first, and returns those that match.
 * `lastId` is the last message scanned, for the next call. Deliveries are read only where a condition
 * needs them and for matches: each costs several times as much as the message itself.
 */
export async function scanMessages(
  db: Queryable,
  scope: TenantScope,
  filter: MessageFilter,
  bounds: MessageScan,
): Promise<{ matches: ScannedMessage[]; scanned: number; lastId: string | null }> {
  const scan = scanFor(filter);
  const { rows } = await db.query<ScannedMessage & { scanned: number; last_id: string | null }>({
    name: scan.name,
    text: `with scanned as materialized (${scan.rows}),
      matched as materialized (select s.id from scanned s where
        ($6::text is null or $6 = any(s.tags))
          and ('${SYSTEM_TAG}' = any(s.tags)) = ($6 is not distinct from '${SYSTEM_TAG}') and ($7::text is null or s.template_key = $7)
          and ($8::jsonb is null or s.metadata::jsonb @> $8)
          and ($9::text[] is null or not exists (
            select from unnest($9::text[]) word where strpos(lower(s.subject), word) = 0
              and strpos(lower(s.sender), word) = 0 and not exists (
                select from deliveries d where d.workspace_id = $1 and d.mode = $2
                  and d.message_id = s.id and strpos(d.recipient_key, word) > 0)))
          and ($10::text is null or lower(right(s.sender, length($10) + 1)) = '@' || $10)
          and ($11::text is null or exists (
            select from deliveries d where d.workspace_id = $1 and d.mode = $2
              and d.message_id = s.id
              and right(d.recipient_key, length($11) + 1) = '@' || $11))
          and ($12::text is null or exists (
            select from deliveries d where d.workspace_id = $1 and d.mode = $2
              and d.message_id = s.id and (d.reason = $12 or d.bounce->>'reason' = $12)))
          and ($13::uuid is null or s.api_key_id = $13)
          and ($14::text is null or s.stream = $14)
          and ($17::text is null or exists (
            select from deliveries d where d.workspace_id = $1 and d.mode = $2
              and d.message_id = s.id and d.status::text = $17))
          and ($18::boolean is null or $18 = exists (
            select from deliveries d where d.workspace_id = $1 and d.mode = $2
              and d.message_id = s.id and d.complained_at is not null))
        order by s.id desc limit $16)
      select m.id, edge.scanned, edge.last_id,
        case when $15 then (
          select json_agg(json_build_object('recipient', d.recipient_key, 'mx', d.smtp->>'mx'))
          from deliveries d where d.workspace_id = $1 and d.mode = $2
            and d.message_id = m.id) else '[]' end as receivers,
        (select array_agg(d.status::text order by d.ordinal) from deliveries d
          where d.workspace_id = $1 and d.mode = $2 and d.message_id = m.id) as statuses
      from (select count(*)::int as scanned, (array_agg(id order by id))[1] as last_id
              from scanned) edge
        left join matched m on true order by m.id desc`,
    values: [
      scope.workspaceId,
      scope.mode,
      bounds.beforeId,
      bounds.sinceId,
      bounds.scanMax,
      filter.tag ?? null,
      filter.templateKey ?? null,
      filter.metadata ? JSON.stringify(filter.metadata) : null,
      filter.searchTerms ?? null,
      filter.senderDomain ?? null,
      filter.recipientDomain ?? null,
      filter.reason ?? null,
      filter.apiKeyId ?? null,
      filter.stream ?? null,
      filter.includeReceivers ?? false,
      bounds.matchesMax,
      filter.deliveryStatus ?? null,
      filter.complained ?? null,
      ...scan.values,
    ],
  });
  return {
    matches: rows.filter((row) => row.id !== null),
    scanned: rows[0]?.scanned ?? 0,
    lastId: rows[0]?.last_id ?? null,
  };
}

/** Which messages to scan: those that an index finds, or all. */
function scanFor({ recipientKey, headerMessageId, metadata }: MessageFilter) {
  if (headerMessageId !== undefined) {
    return { name: 'scan-messages-by-header', rows: SCAN_MESSAGE_ID, values: [headerMessageId] };
  }
  if (recipientKey !== undefined) {
    return { name: 'scan-messages-of-recipient', rows: SCAN_RECIPIENT, values: [recipientKey] };
  }
  const batch = metadata?.[BATCH_METADATA];
  if (batch === undefined) return { name: 'scan-messages', rows: SCAN_ALL, values: [] };
  return { name: 'scan-messages-of-batch', rows: SCAN_BATCH, values: [batch] };
}

const SCAN_MESSAGE_ID = `select id, stream, tags, template_key, metadata, subject, sender, api_key_id from messages
  where workspace_id = $1 and mode = $2 and header_message_id = $19 and id < $3 and id >= $4
  order by id desc limit $5`;

/** Metadata that an index finds: the batch of a message that was sent through SendGrid's API. */
export const BATCH_METADATA = 'sendgrid_batch_id';

const SCAN_BATCH = `select id, stream, tags, template_key, metadata, subject, sender, api_key_id from messages
  where workspace_id = $1 and mode = $2 and metadata ->> '${BATCH_METADATA}' = $19 and id < $3
    and id >= $4 order by id desc limit $5`;

const SCAN_ALL = `select id, stream, tags, template_key, metadata, subject, sender, api_key_id from messages
  where workspace_id = $1 and mode = $2 and id < $3 and id >= $4 order by id desc limit $5`;

/** Uses the index on recipients, because searching by recipient is the most common query. */
const SCAN_RECIPIENT = `select m.id, m.stream, m.tags, m.template_key, m.metadata, m.subject, m.sender, m.api_key_id
  from deliveries r join messages m on m.workspace_id = $1 and m.mode = $2 and m.id = r.message_id
  where r.workspace_id = $1 and r.mode = $2 and r.recipient_key = $19 and r.message_id < $3
    and r.message_id >= $4 order by r.message_id desc limit $5`;

export interface StoredAttempt {
  recipient: string;
  number: number;
  startedAtMs: number;
  finishedAtMs: number;
  outcome: string;
  smtp: SmtpFacts | null;
  bounce: Bounce | null;
  /** Serialized by mail/smtp-client/transcript.ts. */
  transcript: string | null;
}

export async function findAttempts(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<StoredAttempt[]> {
  const { rows } = await db.query<StoredAttempt>({
    name: 'find-attempts',
    text: `select d.recipient, a.number, a.started_at as "startedAtMs",
        a.finished_at as "finishedAtMs", a.outcome, a.smtp, a.bounce, a.transcript
      from attempts a join deliveries d on d.workspace_id = a.workspace_id and d.mode = a.mode
        and d.message_id = a.message_id and d.ordinal = a.ordinal
      where a.workspace_id = $1 and a.mode = $2 and a.message_id = $3
      order by a.started_at, a.ordinal, a.number limit 1000`,
    values: [scope.workspaceId, scope.mode, id],
  });
  return rows;
}

/** The deliveries of a message, locked until the transaction ends. */
export async function lockDeliveries(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<(StoredDelivery & { eventSequence: number; expiresAtMs: number })[]> {
  const { rows } = await db.query<StoredDelivery & { eventSequence: number; expiresAtMs: number }>(
    `select ordinal, kind, recipient, recipient_name as name, status, reason, attempts,
       lease is not null as leased, event_sequence as "eventSequence", expires_at as "expiresAtMs"
     from deliveries where workspace_id = $1 and mode = $2 and message_id = $3
     order by ordinal for update`,
    [scope.workspaceId, scope.mode, id],
  );
  return rows;
}

/** Cancels the given deliveries and counts one more event for each. */
export async function cancelDeliveries(
  db: Queryable,
  scope: TenantScope,
  id: string,
  ordinals: readonly number[],
  atMs: number,
): Promise<void> {
  await db.query(
    `update deliveries set status = 'cancelled', due_at = null, lease = null, event_sequence = event_sequence + 1,
       finished_at = $5
     where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = any($4)`,
    [scope.workspaceId, scope.mode, id, ordinals, sqlTime(atMs)],
  );
}

export async function rescheduleDeliveries(
  db: Queryable,
  scope: TenantScope,
  id: string,
  atMs: number,
  expiresAtMs: number,
): Promise<void> {
  await db.query(
    `update deliveries set due_at = $4, expires_at = $5, event_sequence = event_sequence + 1
     where workspace_id = $1 and mode = $2 and message_id = $3 and status = 'scheduled'`,
    [scope.workspaceId, scope.mode, id, sqlTime(atMs), sqlTime(expiresAtMs)],
  );
  await db.query(
    'update messages set scheduled_at = $4 where workspace_id = $1 and mode = $2 and id = $3',
    [scope.workspaceId, scope.mode, id, sqlTime(atMs)],
  );
}

/** Makes deferred deliveries due now, and queues final ones again in a new delivery cycle. */
export async function retryDeliveries(
  db: Queryable,
  scope: TenantScope,
  id: string,
  ordinals: readonly number[],
  nowMs: number,
  expiresAtMs: number,
): Promise<void> {
  await db.query(
    `update deliveries set due_at = $5, lease = null, finished_at = null, reason = null,
       status = 'queued',
       delivery_cycles = case when status = 'deferred' then delivery_cycles
         else delivery_cycles + 1 end,
       expires_at = case when status = 'deferred' then expires_at else $6 end
     where workspace_id = $1 and mode = $2 and message_id = $3 and ordinal = any($4)`,
    [scope.workspaceId, scope.mode, id, ordinals, sqlTime(nowMs), sqlTime(expiresAtMs)],
  );
}

export async function notifyDeliveriesDue(pool: Pool): Promise<void> {
  await pool.query(`select pg_notify(${channel('deliveries')}, '')`);
}
