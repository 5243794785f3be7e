import type { Pool } from '../../db/connections/pool.ts';
import type { MessageAttachmentsRow } from '../../db/schema/tables.ts';
import { uuidRange } from '../../lib/ids.ts';
import type { Attachment } from '../../mail/mime/attachment.ts';
import type { ContentHead, MessageContent } from '../../messages/content/message-content.ts';
import type { Message } from '../delivery.ts';

/** The content of one message; null when it is no longer stored. */
export type LoadedContent = {
  content: MessageContent;
  signature: string | null;
  bytes: number;
} | null;

/** A content that is too large to be read with others: only its size is returned. */
export interface LargeContent {
  largeBytes: number;
}

interface ContentRow {
  n: number;
  subject: string;
  bytes: number;
  head: ContentHead | null;
  html: string | null;
  text: string | null;
  signature: string | null;
  encryptedContent: Buffer | null;
  attachments: number;
}

/** Decrypts the content of a message with secret values (messages/content/message-content.ts). */
export type DecryptContent = (encrypted: Buffer) => Omit<MessageContent, 'attachments'> | undefined;

/**
 * Reads contents of up to `bytesMax` each in one query. Sizes are known without reading, because
 * PostgreSQL stores them beside the pointer to a large value.
 */
export async function readContents(
  pool: Pool,
  messages: readonly Message[],
  bytesMax: number,
  decrypt: DecryptContent,
): Promise<(LoadedContent | LargeContent)[]> {
  const keys = messages.map((message, n) => ({
    n,
    w: message.workspaceId,
    m: message.mode,
    id: message.id,
  }));
  const { rows } = await pool.query<ContentRow>({
    name: 'delivery-contents',
    text: `select k.n, m.subject, c.bytes + a.bytes as bytes, a.attachments,
              case when c.bytes + a.bytes <= $4::bigint then c.head end as head,
              case when c.bytes + a.bytes <= $4::bigint then c.html end as html,
              case when c.bytes + a.bytes <= $4::bigint then c.text end as text,
              case when c.bytes + a.bytes <= $4::bigint then c.encrypted_content end as "encryptedContent",
              c.signature
         from json_to_recordset($1::json) as k(n int, w uuid, m mode, id uuid)
         cross join lateral (
           select subject from messages
            where workspace_id = k.w and mode = k.m and id = k.id and id between $2 and $3
            limit 1) m
         cross join lateral (
           select head, html, text, encrypted_content, signature,
                  (octet_length(html) + coalesce(octet_length(text), 0)
                    + coalesce(octet_length(encrypted_content), 0))::bigint as bytes
             from message_contents
            where workspace_id = k.w and mode = k.m and id = k.id and id between $2 and $3
            limit 1) c
         cross join lateral (
           select coalesce(sum(octet_length(content)), 0)::bigint as bytes, count(*)::int as attachments
             from message_attachments
            where workspace_id = k.w and mode = k.m and message_id = k.id
              and message_id between $2 and $3) a`,
    values: [JSON.stringify(keys), ...uuidRange(messages.map(({ id }) => id)), bytesMax],
  });
  const found = new Map(rows.map((row) => [row.n, row]));
  const withFiles = messages.filter((_, n) => {
    const row = found.get(n);
    return row !== undefined && row.html !== null && row.attachments > 0;
  });
  const files = await readAttachments(pool, withFiles);
  return messages.map((message, n) => {
    const row = found.get(n);
    if (!row) return null;
    if (row.html === null || row.head === null) return { largeBytes: row.bytes };
    const { subject, head, html, text, encryptedContent, signature, bytes } = row;
    const content =
      encryptedContent === null ? { subject, head, html, text } : decrypt(encryptedContent);
    if (!content) return null;
    const attachments = files.get(message.id) ?? [];
    return { content: { ...content, attachments }, signature, bytes };
  });
}

type AttachmentRow = Pick<
  MessageAttachmentsRow,
  'message_id' | 'filename' | 'content_type' | 'content_id' | 'content'
>;

async function readAttachments(
  pool: Pool,
  messages: readonly Message[],
): Promise<Map<string, Attachment[]>> {
  const files = new Map<string, Attachment[]>();
  if (messages.length === 0) return files;
  const keys = messages.map((message) => ({
    w: message.workspaceId,
    m: message.mode,
    id: message.id,
  }));
  const { rows } = await pool.query<AttachmentRow>({
    name: 'delivery-attachments',
    text: `select a.message_id, a.filename, a.content_type, a.content_id, a.content
         from json_to_recordset($1::json) as k(w uuid, m mode, id uuid)
         cross join lateral (
           select * from message_attachments
            where workspace_id = k.w and mode = k.m and message_id = k.id
              and message_id between $2 and $3
            order by ordinal limit 1000) a`,
    values: [JSON.stringify(keys), ...uuidRange(messages.map(({ id }) => id))],
  });
  for (const row of rows) {
    const file: Attachment = {
      filename: row.filename,
      contentType: row.content_type,
      content: row.content,
      ...(row.content_id === null ? {} : { contentId: row.content_id }),
    };
    const known = files.get(row.message_id);
    if (known) known.push(file);
    else files.set(row.message_id, [file]);
  }
  return files;
}
