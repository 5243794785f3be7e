import { uuidFloor } from '../base/ids.ts';
import type { Queryable } from '../storage/pool.ts';
import { sqlTime } from '../storage/row-types.ts';

/** The rows behind the test inbox: one per test message that arrived for at least one recipient. */

export interface InboxEntry {
  messageId: string;
  arrivedAtMs: number;
}

const COLUMNS = 'message_id as "messageId", arrived_at as "arrivedAtMs"';

export async function listInbox(
  db: Queryable,
  workspaceId: string,
  page: { beforeId: string | undefined; limit: number; recipientKey: string | undefined },
): Promise<InboxEntry[]> {
  const { rows } = await db.query<InboxEntry>({
    name: 'list-inbox',
    text: `select ${COLUMNS} from test_inbox i
      where workspace_id = $1 and ($2::uuid is null or message_id < $2)
        and ($4::text is null or exists (select from deliveries d where d.workspace_id = $1
          and d.mode = 'test' and d.message_id = i.message_id and d.recipient_key = $4
          and d.status = 'delivered'))
      order by message_id desc limit $3`,
    values: [workspaceId, page.beforeId ?? null, page.limit, page.recipientKey ?? null],
  });
  return rows;
}

export async function findInboxEntry(
  db: Queryable,
  workspaceId: string,
  messageId: string,
): Promise<InboxEntry | undefined> {
  const { rows } = await db.query<InboxEntry>({
    name: 'find-inbox-entry',
    text: `select ${COLUMNS} from test_inbox where workspace_id = $1 and message_id = $2`,
    values: [workspaceId, messageId],
  });
  return rows[0];
}

/**
 * Hands out the oldest message that matches and was not handed out yet. Two waiting tests never get
 * the same one: the row is locked, and whoever comes second passes over it.
 */
export async function takeUnseen(
  db: Queryable,
  workspaceId: string,
  wanted: { recipientKey: string | undefined; subject: string | undefined },
  nowMs: number,
): Promise<InboxEntry | undefined> {
  const { rows } = await db.query<InboxEntry>({
    name: 'take-unseen',
    text: `update test_inbox set waited_at = $4
      where workspace_id = $1 and message_id >= $5 and message_id = (
        select i.message_id from test_inbox i
          join messages m on m.workspace_id = $1 and m.mode = 'test' and m.id = i.message_id
        where i.workspace_id = $1 and i.waited_at is null and i.message_id >= $5
          and ($3::text is null or strpos(lower(m.subject), $3) > 0)
          and ($2::text is null or exists (select from deliveries d where d.workspace_id = $1
            and d.mode = 'test' and d.message_id = i.message_id and d.recipient_key = $2
            and d.status = 'delivered'))
        order by i.message_id limit 1 for update of i skip locked)
      returning ${COLUMNS}`,
    // Nobody waits for what came days ago: a bound on how far back unseen mail is looked through.
    values: [
      workspaceId,
      wanted.recipientKey ?? null,
      wanted.subject?.toLowerCase() ?? null,
      sqlTime(nowMs),
      uuidFloor(nowMs - UNSEEN_MAX_MS),
    ],
  });
  return rows[0];
}

const UNSEEN_MAX_MS = 2 * 24 * 60 * 60 * 1000;

export async function deleteInboxEntry(
  db: Queryable,
  workspaceId: string,
  messageId: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'delete from test_inbox where workspace_id = $1 and message_id = $2',
    [workspaceId, messageId],
  );
  return rowCount === 1;
}

/** Empties the inbox of what had arrived by `nowMs`. */
export async function clearInbox(db: Queryable, workspaceId: string, nowMs: number): Promise<void> {
  await db.query('delete from test_inbox where workspace_id = $1 and arrived_at <= $2', [
    workspaceId,
    sqlTime(nowMs),
  ]);
}
