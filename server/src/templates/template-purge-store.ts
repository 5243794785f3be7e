import { purgeRows } from '../db/statements/purge-rows.ts';

/** Templates, layouts and partials. */
export const TEMPLATE_PURGES = [
  purgeRows({
    table: 'template_publications',
    delete: 'delete from template_publications d',
    key: ['kind text', 'key text', 'ordinal integer'],
  }),
  purgeRows({
    table: 'template_versions',
    delete: 'delete from template_versions d',
    key: ['kind text', 'key text', 'version integer'],
    rowsMax: 50,
  }),
  purgeRows({
    table: 'templates',
    delete: 'delete from templates d',
    key: ['kind text', 'key text'],
    rowsMax: 50,
    channel: 'templates',
  }),
] as const;
