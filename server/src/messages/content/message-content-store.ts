import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool, Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type {
  MessageAttachmentsRow,
  MessageContentsRow,
  MessagesRow,
} from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { Attachment } from '../../mail/mime/attachment.ts';
import { lockThenChange } from '../../queue/lease-store.ts';
import type { ContentHead, MessageContent } from './message-content.ts';

/** How long a failed message can be retried with its original content. */
const RETRYABLE_MS = 3 * 24 * 60 * 60 * 1000;

/**
 * Deletes the encrypted content of live messages that no longer need it: all recipients were
 * delivered or given up, or no retry was requested for days. Test messages keep theirs for the test
 * inbox. Returns the number deleted, at most `limit`. Any number of nodes may run it.
 */
export async function deleteEncryptedContents(
  pool: Pool,
  nowMs: number,
  limit: number,
): Promise<number> {
  const deleted = await lockThenChange(
    pool,
    async (client) => {
      const { rows } = await client.query<Pick<MessageContentsRow, 'workspace_id' | 'mode' | 'id'>>(
        `select c.workspace_id, c.mode, c.id from message_contents c
          where c.mode = 'live' and octet_length(c.encrypted_content) > 0 and not exists (
            select from deliveries d
             where d.workspace_id = c.workspace_id and d.mode = c.mode and d.message_id = c.id
               and (d.status in ('scheduled', 'queued', 'deferred')
                 or d.status in ('bounced', 'failed', 'expired') and d.finished_at > $1))
          limit $2 for update skip locked`,
        [sqlTime(nowMs - RETRYABLE_MS), limit],
      );
      return rows;
    },
    async (client, picked) => {
      await client.query(
        `update message_contents c set encrypted_content = ''
           from json_to_recordset($1::json) as p(workspace_id uuid, mode mode, id uuid)
          where c.workspace_id = p.workspace_id and c.mode = p.mode and c.id = p.id`,
        [JSON.stringify(picked)],
      );
      return picked;
    },
  );
  return deleted.length;
}

/** Whether the original content of a message was deleted, so that it cannot be sent again. */
export async function isEncryptedContentDeleted(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from message_contents
      where workspace_id = $1 and mode = $2 and id = $3 and encrypted_content = ''
     union all
     select from archived_contents
      where workspace_id = $1 and mode = $2 and id = $3 and is_redacted
     limit 1`,
    [scope.workspaceId, scope.mode, id],
  );
  return rowCount === 1;
}

type StoredAttachment = Omit<Attachment, 'contentId'> & { contentId: string | null };

const ATTACHMENT = selectList<MessageAttachmentsRow, StoredAttachment>({
  filename: 'filename',
  contentType: 'content_type',
  contentId: 'content_id',
  content: 'content',
});

export async function findContent(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<MessageContent | undefined> {
  const { rows } = await db.query<
    Pick<MessagesRow, 'subject'> & Pick<MessageContentsRow, 'html' | 'text'> & { head: ContentHead }
  >({
    name: 'find-content',
    text: `select m.subject, c.head, c.html, c.text from message_contents c
      join messages m on m.workspace_id = c.workspace_id and m.mode = c.mode and m.id = c.id
      where c.workspace_id = $1 and c.mode = $2 and c.id = $3`,
    values: [scope.workspaceId, scope.mode, id],
  });
  const content = rows[0];
  if (!content) return undefined;
  const files = await db.query<StoredAttachment>({
    name: 'find-attachments',
    text: `select ${ATTACHMENT} from message_attachments where workspace_id = $1 and mode = $2 and message_id = $3
      order by ordinal`,
    values: [scope.workspaceId, scope.mode, id],
  });
  const attachments = files.rows.map(({ contentId, ...file }) =>
    contentId === null ? file : { ...file, contentId },
  );
  return { ...content, attachments };
}

/** Encrypted content by message id, for the messages that have it. */
export async function findEncryptedContents(
  db: Queryable,
  scope: TenantScope,
  ids: readonly string[],
): Promise<Map<string, Buffer>> {
  const { rows } = await db.query<{ id: string; content: Buffer }>({
    name: 'find-encrypted-contents',
    text: `select id, encrypted_content as content from message_contents
      where workspace_id = $1 and mode = $2 and id = any($3) and octet_length(encrypted_content) > 0`,
    values: [scope.workspaceId, scope.mode, ids],
  });
  return new Map(rows.map(({ id, content }) => [id, content]));
}
