import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type {
  AttemptsRow,
  DeliveriesRow,
  DeliveryStatus,
  MessagesRow,
} from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { uuidRange } from '../lib/ids.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import { deleteArchivedContents } from './archive/archive-store.ts';

/** Reads and rewrites messages, their content, deliveries and attempts, for privacy/erase-address.ts. */

export interface LockedDelivery {
  messageId: string;
  ordinal: number;
  recipientKey: string;
  status: DeliveryStatus;
  attempts: number;
  eventSequence: number;
  smtp: unknown;
  bounce: unknown;
}

const LOCKED = selectList<DeliveriesRow, LockedDelivery>({
  messageId: 'message_id',
  ordinal: 'ordinal',
  recipientKey: 'recipient_key',
  status: 'status',
  attempts: 'attempts',
  eventSequence: 'event_sequence',
  smtp: 'smtp',
  bounce: 'bounce',
});

/**
 * Locks the deliveries of up to `limit` messages to the address, and returns those messages whose
 * deliveries could all be locked. Locked rows are skipped, never waited for: the delivery engine
 * locks many rows in its own order. `left` says whether any message remains.
 */
export async function lockMessagesTo(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  recipientKey: string,
  limit: number,
): Promise<{ deliveries: LockedDelivery[]; left: boolean }> {
  const found = await db.query<{ id: string; recipients: number }>({
    name: 'erasure-messages',
    text: `select f.id, (select count(*) from deliveries d where d.workspace_id = $1 and d.mode = $2
          and d.message_id = f.id) as recipients
      from (select distinct message_id as id from deliveries
        where workspace_id = $1 and mode = $2 and recipient_key = $3
        order by message_id limit $4) f`,
    values: [workspaceId, mode, recipientKey, limit],
  });
  if (found.rows.length === 0) return { deliveries: [], left: false };
  const ids = found.rows.map((row) => row.id);
  const locked = await db.query<LockedDelivery>({
    name: 'erasure-lock-deliveries',
    text: `select ${LOCKED} from deliveries where workspace_id = $1 and mode = $2 and message_id = any($3)
        and message_id between $4 and $5
      order by message_id, ordinal for update skip locked`,
    values: [workspaceId, mode, ids, ...uuidRange(ids)],
  });
  const byMessage = Map.groupBy(locked.rows, (row) => row.messageId);
  const whole = found.rows.filter(({ id, recipients }) => byMessage.get(id)?.length === recipients);
  return { deliveries: whole.flatMap(({ id }) => byMessage.get(id) ?? []), left: true };
}

export interface ErasableMessage extends Pick<MessagesRow, 'id' | 'subject' | 'stream' | 'tags'> {
  metadata: Record<string, string>;
  header_message_id: string | null;
}

export async function readMessages(
  db: Queryable,
  scope: TenantScope,
  ids: readonly string[],
): Promise<ErasableMessage[]> {
  const { rows } = await db.query<ErasableMessage>({
    name: 'erasure-read-messages',
    text: `select id, subject, stream, tags, metadata, header_message_id from messages
      where workspace_id = $1 and mode = $2 and id = any($3) and id between $4 and $5`,
    values: [scope.workspaceId, scope.mode, ids, ...uuidRange(ids)],
  });
  return rows;
}

export async function writeMessages(
  db: Queryable,
  scope: TenantScope,
  messages: readonly Omit<ErasableMessage, 'stream' | 'tags'>[],
): Promise<void> {
  await db.query({
    name: 'erasure-write-messages',
    text: `with reserved as (delete from message_id_reservations i using messages m
        join json_to_recordset($3::json) as r(id uuid, header_message_id text) on m.id = r.id
        where m.workspace_id = $1 and m.mode = $2 and m.id between $4 and $5
          and r.header_message_id is null and i.workspace_id = $1 and i.mode = $2
          and i.header_message_id = m.header_message_id)
      update messages m set subject = r.subject, metadata = r.metadata,
        header_message_id = r.header_message_id
      from json_to_recordset($3::json)
        as r(id uuid, subject text, metadata json, header_message_id text)
      where m.workspace_id = $1 and m.mode = $2 and m.id = r.id and m.id between $4 and $5`,
    values: [
      scope.workspaceId,
      scope.mode,
      JSON.stringify(messages),
      ...uuidRange(messages.map(({ id }) => id)),
    ],
  });
}

/**
 * Deletes what was sent only to this recipient: content, attachments and the copy in the test
 * inbox.
 */
export async function deleteContents(
  db: Queryable,
  scope: TenantScope,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await deleteArchivedContents(db, scope, ids);
  const values = [scope.workspaceId, scope.mode, ids, ...uuidRange(ids)];
  await db.query({
    name: 'erasure-delete-contents',
    text: `delete from message_contents
      where workspace_id = $1 and mode = $2 and id = any($3) and id between $4 and $5`,
    values,
  });
  await db.query({
    name: 'erasure-delete-attachments',
    text: `delete from message_attachments where workspace_id = $1 and mode = $2
      and message_id = any($3) and message_id between $4 and $5`,
    values,
  });
  if (scope.mode === 'live') return;
  await db.query({
    name: 'erasure-delete-inbox',
    text: `delete from test_inbox where workspace_id = $1 and message_id = any($2)
      and message_id between $3 and $4`,
    values: [scope.workspaceId, ids, ...uuidRange(ids)],
  });
}

export interface ErasableContent {
  head: unknown;
  html: string;
  text: string | null;
  /** The encrypted original of a message with secret values; null for most. */
  encryptedContent: Buffer | null;
}

export async function readContent(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<ErasableContent | undefined> {
  const { rows } = await db.query<ErasableContent>(
    `select head, html, text, encrypted_content as "encryptedContent" from message_contents
     where workspace_id = $1 and mode = $2 and id = $3`,
    [scope.workspaceId, scope.mode, id],
  );
  return rows[0];
}

/** The stored DKIM signature does not match changed content, so it is deleted. */
export async function writeContent(
  db: Queryable,
  scope: TenantScope,
  id: string,
  content: ErasableContent,
): Promise<void> {
  await db.query(
    `update message_contents set head = $4, html = $5, text = $6, encrypted_content = $7, signature = null
     where workspace_id = $1 and mode = $2 and id = $3`,
    [
      scope.workspaceId,
      scope.mode,
      id,
      JSON.stringify(content.head),
      content.html,
      content.text,
      content.encryptedContent,
    ],
  );
}

export interface ErasedDelivery {
  messageId: string;
  ordinal: number;
  cancelled: boolean;
  smtp: unknown;
  bounce: unknown;
}

/** Replaces the recipient. Pending deliveries are cancelled, and their leases are revoked. */
export async function writeDeliveries(
  db: Queryable,
  scope: TenantScope,
  deliveries: readonly ErasedDelivery[],
  nowMs: number,
): Promise<void> {
  const records = deliveries.map(({ messageId, ordinal, cancelled, smtp, bounce }) => ({
    id: messageId,
    ordinal,
    cancelled,
    smtp,
    bounce,
  }));
  await db.query({
    name: 'erasure-write-deliveries',
    text: `update deliveries d set recipient = $4, recipient_key = $4, recipient_name = null,
        smtp = r.smtp, bounce = r.bounce,
        status = case when r.cancelled then 'cancelled' else d.status end,
        due_at = case when r.cancelled then null else d.due_at end,
        lease = case when r.cancelled then null else d.lease end,
        event_sequence = d.event_sequence + case when r.cancelled then 1 else 0 end,
        finished_at = case when r.cancelled then $5 else d.finished_at end
      from json_to_recordset($3::json)
        as r(id uuid, ordinal smallint, cancelled boolean, smtp json, bounce json)
      where d.workspace_id = $1 and d.mode = $2 and d.message_id = r.id and d.ordinal = r.ordinal
        and d.message_id between $6 and $7`,
    values: [
      scope.workspaceId,
      scope.mode,
      JSON.stringify(records),
      ERASED_ADDRESS,
      sqlTime(nowMs),
      ...uuidRange(deliveries.map(({ messageId }) => messageId)),
    ],
  });
}

export interface ErasableAttempt
  extends Pick<AttemptsRow, 'ordinal' | 'number' | 'smtp' | 'bounce' | 'transcript'> {
  id: AttemptsRow['message_id'];
}

export async function readAttempts(
  db: Queryable,
  scope: TenantScope,
  ids: readonly string[],
): Promise<ErasableAttempt[]> {
  const { rows } = await db.query<ErasableAttempt>({
    name: 'erasure-read-attempts',
    text: `select message_id as id, ordinal, number, smtp, bounce, transcript from attempts
      where workspace_id = $1 and mode = $2 and message_id = any($3) and message_id between $4 and $5`,
    values: [scope.workspaceId, scope.mode, ids, ...uuidRange(ids)],
  });
  return rows;
}

export async function writeAttempts(
  db: Queryable,
  scope: TenantScope,
  attempts: readonly ErasableAttempt[],
): Promise<void> {
  if (attempts.length === 0) return;
  await db.query({
    name: 'erasure-write-attempts',
    text: `update attempts a set smtp = r.smtp, bounce = r.bounce, transcript = r.transcript
      from json_to_recordset($3::json) as r(id uuid, ordinal smallint, number smallint, smtp json,
        bounce json, transcript text)
      where a.workspace_id = $1 and a.mode = $2 and a.message_id = r.id and a.ordinal = r.ordinal
        and a.number = r.number and a.message_id between $4 and $5`,
    values: [
      scope.workspaceId,
      scope.mode,
      JSON.stringify(attempts),
      ...uuidRange(attempts.map(({ id }) => id)),
    ],
  });
}
