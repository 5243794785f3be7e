import type { Queryable } from '../db/connections/pool.ts';
import type { MessageRef } from '../messages/deliveries/delivery-change-store.ts';

/** The recipient of a message with a link, as far as the message is stored. */
export interface SubscribedRecipient {
  recipient: string;
  recipientKey: string;
  attempts: number;
  stream: string;
  metadata: Record<string, string>;
  tags: string[];
}

/** Mail with a link has one recipient. The statement is not prepared: see report-store.ts. */
export async function lockRecipient(
  db: Queryable,
  { workspaceId, mode, messageId }: MessageRef,
): Promise<SubscribedRecipient | undefined> {
  const { rows } = await db.query<SubscribedRecipient>(
    `select d.recipient, d.recipient_key as "recipientKey", d.attempts, m.stream,
       m.metadata, m.tags
     from deliveries d join messages m on m.workspace_id = d.workspace_id and m.mode = d.mode
       and m.id = d.message_id
     where d.workspace_id = $1 and d.mode = $2 and d.message_id = $3 and d.ordinal = 0
     for update of d`,
    [workspaceId, mode, messageId],
  );
  return rows[0];
}
