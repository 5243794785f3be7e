import { purgeRows } from '../db/statements/purge-rows.ts';

/** Sending domains and their keys. */
export const DOMAIN_PURGES = [
  purgeRows({
    table: 'domain_keys',
    delete: 'delete from domain_keys d',
    key: ['domain_id uuid', 'selector text'],
    channel: 'domains',
  }),
  purgeRows({
    table: 'domains',
    delete: 'delete from domains d',
    key: ['id uuid'],
    channel: 'domains',
  }),
] as const;
