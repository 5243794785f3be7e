import { purgeRows } from '../db/statements/purge-rows.ts';

export const INBOUND_PURGES = [
  purgeRows({
    table: 'inbound_contents',
    delete: 'delete from inbound_contents d',
    key: ['mode mode', 'id uuid'],
    partitionedBy: 'id',
    rowsMax: 20,
  }),
  purgeRows({
    table: 'inbound_addresses',
    delete: 'delete from inbound_addresses d',
    key: ['mode mode', 'message_id uuid', 'address_key text'],
    partitionedBy: 'message_id',
  }),
  purgeRows({
    table: 'inbound_messages',
    delete: 'delete from inbound_messages d',
    key: ['mode mode', 'id uuid'],
    partitionedBy: 'id',
  }),
] as const;
