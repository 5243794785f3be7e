import { expect, test } from 'vitest';
import type { ContactsRow, DomainsRow } from '../schema/tables.ts';
import { selectList } from './select-list.ts';

test('columns are returned under the names of the fields', () => {
  interface Named {
    id: string;
    emailKey: string;
    createdAtMs: number;
  }
  const fields = { id: 'id', emailKey: 'email_key', createdAtMs: 'created_at' } as const;
  expect(selectList<ContactsRow, Named>(fields)).toBe(
    'id, email_key as "emailKey", created_at as "createdAtMs"',
  );
  expect(selectList<ContactsRow, Named>(fields, 'c')).toBe(
    'c.id, c.email_key as "emailKey", c.created_at as "createdAtMs"',
  );
});

test('the compiler finds unknown columns, missing fields and other types', () => {
  // @ts-expect-error: there is no such column.
  selectList<ContactsRow, { id: string }>({ id: 'ident' });
  // @ts-expect-error: a field is missing.
  selectList<ContactsRow, { id: string; email: string }>({ id: 'id' });
  // @ts-expect-error: the column is a number.
  selectList<ContactsRow, { createdAt: string }>({ createdAt: 'created_at' });
  // @ts-expect-error: the column never has this value.
  selectList<DomainsRow, { status: 'verified' | 'unknown' }>({ status: 'status' });
  selectList<DomainsRow, { status: 'verified' | 'pending' }>({ status: 'status' });
});
