import { purgeRows } from '../db/statements/purge-rows.ts';

/** Contacts and their imports. */
export const CONTACT_PURGES = [
  purgeRows({
    table: 'contact_import_chunks',
    delete: 'delete from contact_import_chunks d',
    key: ['mode mode', 'import_id uuid', 'ordinal integer'],
    rowsMax: 20,
  }),
  purgeRows({
    table: 'contact_import_failures',
    delete: 'delete from contact_import_failures d',
    key: ['mode mode', 'import_id uuid', 'line integer'],
  }),
  purgeRows({
    table: 'contact_imports',
    delete: 'delete from contact_imports d',
    key: ['mode mode', 'id uuid'],
  }),
  purgeRows({
    table: 'contact_subscriptions',
    delete: 'delete from contact_subscriptions d',
    key: ['mode mode', 'email_key text', 'stream text'],
  }),
  purgeRows({
    table: 'contacts',
    delete: 'delete from contacts d',
    key: ['mode mode', 'email_key text'],
  }),
] as const;
