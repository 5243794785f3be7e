import type { Queryable } from '../db/connections/pool.ts';
import { type PurgedTable, purgeRows, type RowKey } from '../db/statements/purge-rows.ts';
import { uuidRange } from '../lib/ids.ts';

const MESSAGES_MAX = 500;
/** Contents may be large. */
const CONTENTS_MAX = 200;

/** Messages and what belongs to them. The queue comes first, so that nothing more is sent. */
export const MESSAGE_PURGES = [
  purgeThroughMessages({
    table: 'deliveries',
    delete: 'delete from deliveries d',
    key: ['message_id uuid', 'ordinal smallint'],
  }),
  purgeThroughMessages({
    table: 'attempts',
    delete: 'delete from attempts d',
    key: ['message_id uuid', 'ordinal smallint', 'number smallint'],
  }),
  purgeRows({
    table: 'message_attachments',
    delete: 'delete from message_attachments d',
    key: ['mode mode', 'message_id uuid', 'ordinal smallint'],
    partitionedBy: 'message_id',
    rowsMax: 20,
  }),
  purgeThroughMessages({
    table: 'message_contents',
    delete: 'delete from message_contents d',
    key: ['id uuid'],
    messagesMax: CONTENTS_MAX,
  }),
  purgeRows({
    table: 'archived_contents',
    delete: 'delete from archived_contents d',
    key: ['mode mode', 'id uuid'],
    partitionedBy: 'id',
  }),
  purgeRows({
    table: 'late_contents',
    delete: 'delete from late_contents d',
    key: ['mode mode', 'message_id uuid'],
  }),
  purgeRows({
    table: 'test_inbox',
    delete: 'delete from test_inbox d',
    key: ['message_id uuid'],
    partitionedBy: 'message_id',
  }),
  purgeMessages(),
  purgeRows({
    table: 'message_id_reservations',
    delete: 'delete from message_id_reservations d',
    key: ['mode mode', 'header_message_id text'],
  }),
  purgeRows({
    table: 'idempotency_keys',
    delete: 'delete from idempotency_keys d',
    key: ['mode mode', 'key text'],
    rowsMax: 200,
  }),
] as const;

interface MessageRows<Table extends 'deliveries' | 'attempts' | 'message_contents'> {
  table: Table;
  /** The beginning of the statement, with the alias `d`. */
  delete: string;
  /** The columns of the key with their types, first the message ID. */
  key: readonly [string, ...string[]];
  messagesMax?: number;
}

/**
 * Tables in which rows are found by the message ID alone: walks through the messages of the workspace and
 * deletes their rows. Like purgeRows, it skips locked rows.
 */
function purgeThroughMessages<Table extends 'deliveries' | 'attempts' | 'message_contents'>(
  purge: MessageRows<Table>,
): PurgedTable<Table> {
  const { table, key, messagesMax = MESSAGES_MAX } = purge;
  const names = key.map((column) => column.split(' ', 1)[0] as string);
  const [id] = names;
  const lock = `select coalesce(json_agg(k), '[]')::text as keys from (
      select ${names.join(', ')} from ${table}
       where workspace_id = $1 and ${id} = any($2) and ${id} between $3 and $4
         for update skip locked) k`;
  const remove = `${purge.delete} using json_to_recordset($2::json) as r(${key.join(', ')})
    where d.workspace_id = $1 and ${names.map((name) => `d.${name} = r.${name}`).join(' and ')}
      and d.${id} between $3 and $4`;
  return {
    table,
    foundThrough: 'messages',
    async deleteRows(db, workspaceId, after) {
      const messages = await nextMessages(db, workspaceId, after, messagesMax, '');
      if (messages.length === 0) return { deleted: {}, next: undefined };
      const ids = messages.map((message) => message.id);
      const range = uuidRange(ids);
      const { rows } = await db.query<{ keys: string }>(lock, [workspaceId, ids, ...range]);
      const { rowCount } = await db.query(remove, [workspaceId, rows[0]?.keys ?? '[]', ...range]);
      return {
        deleted: { [table]: rowCount ?? 0 },
        next: messages.length < messagesMax ? undefined : messages.at(-1),
      };
    },
  };
}

/** Messages of which nothing else is left, because it is found through them. */
function purgeMessages(): PurgedTable<'messages'> {
  return {
    table: 'messages',
    async deleteRows(db, workspaceId, after) {
      const lock = 'for update skip locked';
      const messages = await nextMessages(db, workspaceId, after, MESSAGES_MAX, lock);
      if (messages.length === 0) return { deleted: {}, next: undefined };
      const ids = messages.map((message) => message.id);
      const range = uuidRange(ids);
      const { rows } = await db.query<{ id: string }>(
        ROWS_LEFT.map((select) => `${select} between $2 and $3`).join(' union '),
        [ids, ...range],
      );
      const kept = new Set(rows.map((row) => row.id));
      const { rowCount } = await db.query(
        `delete from messages d using json_to_recordset($2::json) as r(mode mode, id uuid)
          where d.workspace_id = $1 and d.mode = r.mode and d.id = r.id and d.id between $3 and $4`,
        [workspaceId, JSON.stringify(messages.filter(({ id }) => !kept.has(id))), ...range],
      );
      return {
        deleted: { messages: rowCount ?? 0 },
        next: messages.length < MESSAGES_MAX ? undefined : messages.at(-1),
      };
    },
  };
}

const ROWS_LEFT = [
  'select message_id as id from deliveries where message_id = any($1) and message_id',
  'select message_id from attempts where message_id = any($1) and message_id',
  'select id from message_contents where id = any($1) and id',
];

interface MessageKey extends RowKey {
  mode: string;
  id: string;
}

async function nextMessages(
  db: Queryable,
  workspaceId: string,
  after: RowKey | undefined,
  limit: number,
  lock: '' | 'for update skip locked',
): Promise<MessageKey[]> {
  const { rows } = await db.query<MessageKey>(
    `select mode, id from messages
      where workspace_id = $1 ${after ? 'and (mode, id) > ($3::mode, $4::uuid)' : ''}
      order by mode, id limit $2 ${lock}`,
    [workspaceId, limit, ...(after ? [after.mode, after.id] : [])],
  );
  return rows;
}
