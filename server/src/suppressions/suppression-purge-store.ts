import { purgeRows } from '../db/statements/purge-rows.ts';

/** Suppressions. */
export const SUPPRESSION_PURGES = [
  purgeRows({
    table: 'suppressions',
    delete: 'delete from suppressions d',
    key: ['mode mode', 'key text', 'stream text'],
  }),
] as const;
