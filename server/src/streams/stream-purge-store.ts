import { purgeRows } from '../db/statements/purge-rows.ts';

/** Streams. */
export const STREAM_PURGES = [
  purgeRows({
    table: 'streams',
    delete: 'delete from streams d',
    key: ['key text'],
    channel: 'streams',
  }),
] as const;
