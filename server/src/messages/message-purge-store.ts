import { purgeRows } from '../db/purge-rows.ts';

/** Messages and what belongs to them. The queue comes first, so that nothing more is sent. */
export const MESSAGE_PURGES = [
  purgeRows({
    table: 'deliveries',
    delete: 'delete from deliveries d',
    key: ['mode mode', 'message_id uuid', 'ordinal smallint'],
    partitionedBy: 'message_id',
  }),
  purgeRows({
    table: 'attempts',
    delete: 'delete from attempts d',
    key: ['mode mode', 'message_id uuid', 'ordinal smallint', 'number smallint'],
    partitionedBy: 'message_id',
  }),
  purgeRows({
    table: 'message_attachments',
    delete: 'delete from message_attachments d',
    key: ['mode mode', 'message_id uuid', 'ordinal smallint'],
    partitionedBy: 'message_id',
    rowsMax: 20,
  }),
  purgeRows({
    table: 'message_contents',
    delete: 'delete from message_contents d',
    key: ['mode mode', 'id uuid'],
    partitionedBy: 'id',
    rowsMax: 200,
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
  purgeRows({
    table: 'messages',
    delete: 'delete from messages d',
    key: ['mode mode', 'id uuid'],
    partitionedBy: 'id',
  }),
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
