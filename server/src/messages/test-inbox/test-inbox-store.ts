import type { Queryable } from '../../db/pool.ts';
import { sqlTime } from '../../db/row-types.ts';
import { uuidFloor } from '../../lib/ids.ts';

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
  const { beforeId, limit, recipientKey } = page;
  const before = '($2::uuid is null or message_id < $2)';
  // By the recipient's own index: a search for one must not walk through the mail of all.
  const ofRecipient = `select i.* from (select message_id from deliveries
        where workspace_id = $1 and mode = 'test' and recipient_key = $4 and status = 'delivered'
          and ${before} order by message_id desc) d
      cross join lateral (select ${COLUMNS} from test_inbox
        where workspace_id = $1 and message_id = d.message_id limit 1) i
      order by d.message_id desc limit $3`;
  const { rows } = await db.query<InboxEntry>({
    name: recipientKey === undefined ? 'list-inbox' : 'list-inbox-of-recipient',
    text:
      recipientKey === undefined
        ? `select ${COLUMNS} from test_inbox where workspace_id = $1 and ${before}
            order by message_id desc limit $3`
        : ofRecipient,
    values: [workspaceId, beforeId ?? null, limit, ...(recipientKey ? [recipientKey] : [])],
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
 * the same one: the row is locked, and whoever comes second passes over it. Waits ask several times
 * a second, so one look costs the same however much mail nobody has waited for: it goes through the
 * newest to the recipient, or else through the newest of all, and not further.
 */
export async function claimUnseen(
  db: Queryable,
  workspaceId: string,
  { recipientKey, subject }: { recipientKey: string | undefined; subject: string | undefined },
  nowMs: number,
): Promise<InboxEntry | undefined> {
  const kind = recipientKey !== undefined ? 'to' : subject !== undefined ? 'newest' : 'oldest';
  const { rows } = await db.query<InboxEntry>({
    name: `take-unseen-${kind}`,
    text: `update test_inbox set consumed_at = $4
      where workspace_id = $1 and message_id >= $5 and message_id = (
        select message_id from test_inbox
        where workspace_id = $1 and consumed_at is null and message_id = any(array(
          select c.message_id from (${CANDIDATES[kind]}) c
            cross join lateral (select from test_inbox
              where workspace_id = $1 and message_id = c.message_id and consumed_at is null limit 1) i
            cross join lateral (select from messages m
              where m.workspace_id = $1 and m.mode = 'test' and m.id = c.message_id
                and ($3::text is null or strpos(lower(m.subject), $3) > 0) limit 1) m
          order by c.message_id limit ${MATCHED_MAX}))
        order by message_id limit 1 for update skip locked)
      returning ${COLUMNS}`,
    // Nobody waits for what came days ago.
    values: [
      workspaceId,
      recipientKey ?? null,
      subject?.toLowerCase() ?? null,
      sqlTime(nowMs),
      uuidFloor(nowMs - UNSEEN_MAX_MS),
    ],
  });
  return rows[0];
}

const SCANNED_MAX = 1_000;
/** More than can be locked by waits that look at the same moment. */
const MATCHED_MAX = 200;

const UNSEEN = `select message_id from test_inbox where workspace_id = $1 and consumed_at is null
  and message_id >= $5 and $2::text is null`;

const CANDIDATES = {
  to: `select message_id from (select message_id, status from deliveries
      where workspace_id = $1 and mode = 'test' and recipient_key = $2 and message_id >= $5
      order by message_id desc limit ${SCANNED_MAX}) newest where status = 'delivered'`,
  newest: `${UNSEEN} order by message_id desc limit ${SCANNED_MAX}`,
  oldest: `${UNSEEN} order by message_id limit ${MATCHED_MAX}`,
};

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

/**
 * Empties the inbox of what had arrived by `nowMs`, a piece at a time: a commit that takes long holds
 * up every reader of the ledger.
 */
export async function clearInbox(db: Queryable, workspaceId: string, nowMs: number): Promise<void> {
  for (let removed = CLEAR_BATCH; removed === CLEAR_BATCH; ) {
    const { rowCount } = await db.query({
      name: 'clear-inbox',
      text: `delete from test_inbox where workspace_id = $1 and message_id = any(array(
          select message_id from test_inbox where workspace_id = $1 and arrived_at <= $2
          order by message_id limit $3))`,
      values: [workspaceId, sqlTime(nowMs), CLEAR_BATCH],
    });
    removed = rowCount ?? 0;
  }
}

const CLEAR_BATCH = 1_000;
