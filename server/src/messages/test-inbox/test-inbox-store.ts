import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { TestInboxRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import { uuidFloor } from '../../lib/ids.ts';

/**
 * The rows of the test inbox: one per test message that was delivered to at least one recipient.
 */

export interface InboxEntry {
  messageId: string;
  arrivedAtMs: number;
}

const COLUMNS = selectList<TestInboxRow, InboxEntry>({
  messageId: 'message_id',
  arrivedAtMs: 'arrived_at',
});

export async function listInbox(
  db: Queryable,
  workspaceId: string,
  page: { beforeId: string | undefined; limit: number; recipientKey: string | undefined },
): Promise<InboxEntry[]> {
  const { beforeId, limit, recipientKey } = page;
  const before = '($2::uuid is null or message_id < $2)';
  // Uses the index on recipients: a search for one must not scan the mail of all.
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
 * Claims the oldest matching message that no wait has returned yet. When another wait takes it first,
 * the next one is tried, so two waits never get the same message. Waits poll several times a second,
 * so the cost of a poll must not grow with the amount of unclaimed mail: it scans the newest messages
 * to the recipient, or else the newest of all, up to a limit.
 */
export async function claimUnseen(
  db: Queryable,
  workspaceId: string,
  { recipientKey, subject }: { recipientKey: string | undefined; subject: string | undefined },
  nowMs: number,
): Promise<InboxEntry | undefined> {
  const kind = recipientKey !== undefined ? 'to' : subject !== undefined ? 'newest' : 'oldest';
  const { rows: unseen } = await db.query<{ id: string }>({
    name: `find-unseen-${kind}`,
    text: `select c.message_id as id from (${CANDIDATES[kind]}) c
        cross join lateral (select from test_inbox
          where workspace_id = $1 and message_id = c.message_id and consumed_at is null limit 1) i
        cross join lateral (select from messages m
          where m.workspace_id = $1 and m.mode = 'test' and m.id = c.message_id
            and ($3::text is null or strpos(lower(m.subject), $3) > 0) limit 1) m
      order by c.message_id limit ${MATCHED_MAX}`,
    // Waits ignore mail that arrived days ago.
    values: [
      workspaceId,
      recipientKey ?? null,
      subject?.toLowerCase() ?? null,
      uuidFloor(nowMs - UNSEEN_MAX_MS),
    ],
  });
  for (const { id } of unseen) {
    const { rows } = await db.query<InboxEntry>({
      name: 'consume-unseen',
      text: `update test_inbox set consumed_at = $3
        where workspace_id = $1 and message_id = $2 and consumed_at is null returning ${COLUMNS}`,
      values: [workspaceId, id, sqlTime(nowMs)],
    });
    if (rows[0]) return rows[0];
  }
  return undefined;
}

const SCANNED_MAX = 1_000;
/** More than concurrent waits can take meanwhile. */
const MATCHED_MAX = 200;

const UNSEEN = `select message_id from test_inbox where workspace_id = $1 and consumed_at is null
  and message_id >= $4 and $2::text is null`;

const CANDIDATES = {
  to: `select message_id from (select message_id, status from deliveries
      where workspace_id = $1 and mode = 'test' and recipient_key = $2 and message_id >= $4
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
 * Deletes what arrived by `nowMs`, in small batches: a long commit holds up every reader of the
 * event log.
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
