import { purgeRows } from '../db/statements/purge-rows.ts';

/** The event log. */
export const EVENT_PURGES = [
  purgeRows({
    table: 'events',
    delete: 'delete from events d',
    key: ['mode mode', 'tx bigint', 'id uuid'],
    partitionedBy: 'id',
  }),
] as const;
