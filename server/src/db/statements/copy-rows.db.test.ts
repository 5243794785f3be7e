import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { copyTable, describeTable, withTextFormat } from './copy-rows.ts';

/** Copies rows of one workspace between databases, and finds what differs. */

let source: TestDatabase;
let target: TestDatabase;
const workspaceId = uuidv7(Date.now());
const neighbor = uuidv7(Date.now());

beforeAll(async () => {
  [source, target] = [await createTestDatabase(), await createTestDatabase()];
});
afterAll(async () => {
  await source[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
});

const copy = (name: string) =>
  withTextFormat(source.pool, (from) =>
    withTextFormat(target.pool, async (to) => {
      const table = { ...(await describeTable(from, name)), rowsMax: 3 };
      return copyTable(from, to, table, workspaceId);
    }),
  );

async function addContact(database: TestDatabase, email: string, id = uuidv7(Date.now())) {
  await database.pool.query(
    `insert into contacts (workspace_id, mode, email_key, id, email, attributes, created_at, updated_at)
     values ($1, 'live', $2, $3, $2, $4, '2026-01-02T03:04:05.678901Z', now())`,
    [workspaceId, email, id, { text: `a\\b "c" 'd' {e} ü\n` }],
  );
  return id;
}

const contacts = async ({ pool }: TestDatabase) =>
  (await pool.query('select t::text from contacts t order by workspace_id, email_key')).rows;

test('every value arrives, and a second pass finds nothing to copy', async () => {
  for (let n = 0; n < 10; n += 1) await addContact(source, `${n}@example.com`);
  expect(await copy('contacts')).toEqual({ rows: 10, copied: 10, unequal: 0 });
  expect(await contacts(target)).toEqual(await contacts(source));
  expect(await copy('contacts')).toEqual({ rows: 10, copied: 0, unequal: 0 });
});

test('only ranges with a difference are copied: changed, new and deleted rows', async () => {
  await source.pool.query(
    `update contacts set first_name = 'Jane' where email_key = '1@example.com'`,
  );
  expect(await copy('contacts')).toEqual({ rows: 10, copied: 3, unequal: 0 });
  await source.pool.query(`delete from contacts where email_key = '5@example.com'`);
  await addContact(source, 'z@example.com');
  await addContact(target, 'zz@example.com');
  await copy('contacts');
  expect(await contacts(target)).toEqual(await contacts(source));
});

test('a row that takes the place of another in a unique index is copied', async () => {
  const id = await addContact(source, 'last@example.com');
  await copy('contacts');
  await source.pool.query(`update contacts set email_key = '00@example.com' where id = $1`, [id]);
  await copy('contacts');
  expect(await contacts(target)).toEqual(await contacts(source));
});

test('rows of other workspaces are neither copied nor deleted', async () => {
  for (const { pool } of [source, target]) {
    await pool.query(
      `insert into contacts (workspace_id, mode, email_key, id, email, created_at, updated_at)
       values ($1, 'live', $2, $1, $2, now(), now())`,
      [neighbor, pool === source.pool ? 'a@source.example' : 'a@target.example'],
    );
  }
  await copy('contacts');
  const { rows } = await target.pool.query(
    'select email_key from contacts where workspace_id = $1',
    [neighbor],
  );
  expect(rows).toEqual([{ email_key: 'a@target.example' }]);
});
