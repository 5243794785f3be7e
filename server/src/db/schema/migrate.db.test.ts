import { cp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { createLog, silentLog } from '../../lib/log.ts';
import { openPool, type Pool } from '../connections/pool.ts';
import { LOCK_CLASS, LOCKS } from '../lock-numbers.ts';
import { migrate, migrationsMissing } from './migrate.ts';
import { PARTITIONED_TABLES } from './partitions.ts';

/** Applies small migrations made for the test to an empty database. */

async function folderWith(files: Record<string, string>) {
  const folder = await createTempDir();
  for (const [name, sql] of Object.entries(files))
    await writeFile(path.join(folder.path, name), sql);
  return folder;
}

const TWO = {
  '0001-orders.sql': 'create table orders (n int);',
  '0002-items.sql': 'create table items (n int); insert into orders values (1);',
};

const countOrders = async (pool: Pool) =>
  (await pool.query('select count(*) as n from orders')).rows[0].n as number;

describe('migrations', () => {
  test('are applied once, in order, and recorded', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith(TWO);
    expect(await migrationsMissing(db.pool, folder.path)).toBe(2);
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(2);
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(0);
    expect(await migrationsMissing(db.pool, folder.path)).toBe(0);
    await writeFile(path.join(folder.path, '0003-more.sql'), 'insert into orders values (2)');
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(1);
    expect(await countOrders(db.pool)).toBe(2);
  });

  test('are applied once when several nodes start at the same time', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith(TWO);
    const nodes = Array.from({ length: 4 }, () =>
      openPool({ hosts: [{ connectionString: db.url }], log: silentLog }),
    );
    const ran = await Promise.all(
      nodes.map((pool) => migrate(pool, silentLog, { folder: folder.path })),
    );
    expect(ran.toSorted()).toEqual([0, 0, 0, 2]);
    expect(await countOrders(db.pool)).toBe(1);
    await Promise.all(nodes.map((pool) => pool.end()));
  });

  test('are exempt from statement timeouts, and so is waiting for another node', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith({
      ...TWO,
      '0003-slow.sql': 'select pg_sleep(1.5); insert into orders values (2);',
    });
    const nodes = Array.from({ length: 2 }, () =>
      openPool({ hosts: [{ connectionString: db.url }], log: silentLog, unresponsiveMsMax: 1_000 }),
    );
    const ran = await Promise.all(
      nodes.map((pool) => migrate(pool, silentLog, { folder: folder.path })),
    );
    expect(ran.toSorted()).toEqual([0, 3]);
    expect(await countOrders(db.pool)).toBe(2);
    await Promise.all(nodes.map((pool) => pool.end()));
  });

  test('waiting for another node ends when the start is aborted', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith(TWO);
    const other = await db.pool.connect();
    await other.query('select pg_advisory_lock($1, $2)', [LOCK_CLASS, LOCKS.migrations]);
    const abort = new AbortController();
    let logged = '';
    const write = (line: string) => {
      logged += JSON.parse(line).msg;
      abort.abort();
    };
    const log = createLog({ level: 'info', destination: { write } });
    const waits = migrate(db.pool, log, { folder: folder.path, signal: abort.signal });
    await expect(waits).rejects.toThrow('aborted');
    expect(logged).toBe('waiting for another node to finish migrating');
    other.release(true);
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(2);
  });

  test('that fail are rolled back, and earlier ones stay applied', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith({
      ...TWO,
      '0003-broken.sql': 'insert into orders values (2); insert into nowhere values (1);',
    });
    await expect(migrate(db.pool, silentLog, { folder: folder.path })).rejects.toThrow(
      /^The migration 0003-broken\.sql failed and was rolled back: relation "nowhere"/,
    );
    expect(await countOrders(db.pool)).toBe(1);
    expect(await migrationsMissing(db.pool, folder.path)).toBe(1);
  });
});

describe('refused with a clear message', () => {
  test('a database migrated by a newer release', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using newer = await folderWith(TWO);
    await using older = await createTempDir();
    await cp(newer.path, older.path, { recursive: true });
    await rm(path.join(older.path, '0002-items.sql'));
    await migrate(db.pool, silentLog, { folder: newer.path });
    await expect(migrate(db.pool, silentLog, { folder: older.path })).rejects.toThrow(
      /migrated by a newer release of Postrider \(0002-items\.sql\)/,
    );
  });

  test('a migration whose content changed after it was applied, ignoring line endings', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith({ '0001-a.sql': 'create table a (n int);\n-- end\n' });
    await migrate(db.pool, silentLog, { folder: folder.path });
    await writeFile(path.join(folder.path, '0001-a.sql'), 'create table a (n int);\r\n-- end\r\n');
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(0);
    await writeFile(path.join(folder.path, '0001-a.sql'), 'create table a (n text);\n-- end\n');
    await expect(migrate(db.pool, silentLog, { folder: folder.path })).rejects.toThrow(
      /0001-a\.sql was applied to this database with different content/,
    );
  });

  test('a database of a development version before 0.1.0', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using old = await folderWith(
      Object.fromEntries(
        Array.from({ length: 15 }, (_, index) => [
          index === 0 ? '0001-accounts.sql' : `${String(index + 1).padStart(4, '0')}-more.sql`,
          'select 1;',
        ]),
      ),
    );
    await migrate(db.pool, silentLog, { folder: old.path });
    await expect(migrate(db.pool, silentLog)).rejects.toThrow(
      'This database was created by a development version of Postrider before 0.1.0 and cannot be upgraded. Start with an empty database or data folder.',
    );
  });

  test('a gap in the numbering', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using folder = await folderWith({ '0002-b.sql': 'select 1' });
    await expect(migrate(db.pool, silentLog, { folder: folder.path })).rejects.toThrow(
      'is not number 1',
    );
  });
});

test('PARTITIONED_TABLES lists every partitioned table of the schema', async () => {
  await using db = await createTestDatabase();
  const { rows } = await db.pool.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'p' order by relname`,
  );
  expect(rows.map((row) => row.name)).toEqual(
    PARTITIONED_TABLES.map(({ table }) => table).toSorted(),
  );
});
