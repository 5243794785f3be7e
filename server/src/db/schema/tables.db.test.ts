import { expect, test } from 'vitest';
import { migratedSchema } from '../../../../scripts/table-rows.ts';
import { createTestDatabase } from '../../../test/harness/database/database.ts';

/** Goal: the generated row types describe the real tables. Method: the catalog of a migrated database. */

const TYPE_NAMES: Record<string, string> = {
  smallint: 'int2',
  integer: 'int4',
  bigint: 'int8',
  boolean: 'bool',
  'text[]': '_text',
  'bytea[]': '_bytea',
};

test('the generated tables have the columns of the migrated database', async () => {
  await using db = await createTestDatabase();
  const { rows } = await db.pool.query<{ line: string }>(
    `select c.relname || '.' || a.attname || ' ' || t.typname
        || case when a.attnotnull then '' else ' null' end as line
      from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition and a.attnum > 0 and not a.attisdropped
        and c.relname <> 'schema_migrations'`,
  );
  const generated = [...migratedSchema().tables].flatMap(([table, columns]) =>
    columns.map(
      ({ name, type, nullable }) =>
        `${table}.${name} ${TYPE_NAMES[type] ?? type}${nullable ? ' null' : ''}`,
    ),
  );
  expect(generated.sort()).toEqual(rows.map(({ line }) => line).sort());
});

test('the generated enums have the labels of the migrated database', async () => {
  await using db = await createTestDatabase();
  const { rows } = await db.pool.query<{ name: string; labels: string[] }>(
    `select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
      from pg_type t join pg_enum e on e.enumtypid = t.oid group by t.typname`,
  );
  expect(migratedSchema().enums).toEqual(new Map(rows.map(({ name, labels }) => [name, labels])));
});
