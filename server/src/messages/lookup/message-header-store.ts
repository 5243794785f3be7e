import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Queryable } from '../../db/connections/pool.ts';
import { generatedMessageId } from '../content/message-content.ts';
import { addressDomain } from '../queue-shard.ts';

/** The header fields of a message that events about it do not repeat. */
export interface MessageHeader {
  from: { email: string; name: string | null };
  subject: string;
  /** Without angle brackets. */
  messageId: string;
}

export interface CustomHeader {
  name: string;
  value: string;
}

interface HeaderRow {
  sender: string;
  sender_name: string | null;
  subject: string;
  header_message_id: string | null;
}

/** Undefined once the message is past its retention period. */
export async function findMessageHeader(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<MessageHeader | undefined> {
  const { rows } = await db.query<HeaderRow>({
    name: 'find-message-header',
    text: `select sender, sender_name, subject, header_message_id from messages
      where workspace_id = $1 and mode = $2 and id = $3`,
    values: [scope.workspaceId, scope.mode, id],
  });
  const [row] = rows;
  return row && toHeader(id, row);
}

/**
 * The same with the headers that the caller added, which are part of the content: none once it has been
 * deleted or archived. Secret values are redacted in them. Links to unsubscribe are left out, because
 * they act for the recipient without signing in.
 */
export async function findMessageHeaders(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<(MessageHeader & { custom: CustomHeader[] }) | undefined> {
  const { rows } = await db.query<HeaderRow & { custom: [string, string][] | null }>({
    name: 'find-message-headers',
    text: `select sender, sender_name, subject, header_message_id,
        (select c.head -> 'headers' from message_contents c
          where c.workspace_id = m.workspace_id and c.mode = m.mode and c.id = m.id) as custom
      from messages m where workspace_id = $1 and mode = $2 and id = $3`,
    values: [scope.workspaceId, scope.mode, id],
  });
  const [row] = rows;
  const custom = (row?.custom ?? [])
    .filter(([name]) => !/^list-unsubscribe/i.test(name))
    .map(([name, value]) => ({ name, value }));
  return row && { ...toHeader(id, row), custom };
}

function toHeader(id: string, row: HeaderRow): MessageHeader {
  return {
    from: { email: row.sender, name: row.sender_name },
    subject: row.subject,
    messageId: row.header_message_id ?? generatedMessageId(id, addressDomain(row.sender)),
  };
}

/**
 * The messages with these ids, and those with a Message-ID that their caller chose, each with its
 * Message-ID. One statement, because senders of inbound mail choose what is looked up.
 */
export async function findMessagesByHeader(
  db: Queryable,
  scope: TenantScope,
  { ids, messageIds }: { ids: readonly string[]; messageIds: readonly string[] },
): Promise<{ id: string; messageId: string }[]> {
  const { rows } = await db.query<Pick<HeaderRow, 'sender' | 'header_message_id'> & { id: string }>(
    {
      name: 'find-messages-by-header',
      text: `select id, sender, header_message_id from messages
        where workspace_id = $1 and mode = $2 and id = any($3)
      union all
      select id, sender, header_message_id from messages
        where workspace_id = $1 and mode = $2 and header_message_id = any($4)
      limit 100`,
      values: [scope.workspaceId, scope.mode, ids, messageIds],
    },
  );
  return rows.map(({ id, sender, header_message_id: chosen }) => ({
    id,
    messageId: chosen ?? generatedMessageId(id, addressDomain(sender)),
  }));
}
