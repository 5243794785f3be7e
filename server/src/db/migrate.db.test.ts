import { cp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { freshDatabase } from '../../test/harness/database.ts';
import { scratchFolder } from '../../test/harness/temp-dir.ts';
import { createLog, silentLog } from '../lib/log.ts';
import { migrate, migrationsMissing } from './migrate.ts';
import { PARTITIONED_TABLES } from './partitions.ts';
import { openPool, type Pool } from './pool.ts';

/** Small migrations of the test's own on an empty database. */

async function folderWith(files: Record<string, string>) {
  const folder = await scratchFolder();
  for (const [name, sql] of Object.entries(files))
    await writeFile(path.join(folder.path, name), sql);
  return folder;
}

const TWO = {
  '0001-letters.sql': 'create table letters (n int);',
  '0002-stamps.sql': 'create table stamps (n int); insert into letters values (1);',
};

const lettersIn = async (pool: Pool) =>
  (await pool.query('select count(*) as n from letters')).rows[0].n as number;

describe('migrations', () => {
  test('run once, in order, and are known to have run', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith(TWO);
    expect(await migrationsMissing(db.pool, folder.path)).toBe(2);
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(2);
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(0);
    expect(await migrationsMissing(db.pool, folder.path)).toBe(0);
    await writeFile(path.join(folder.path, '0003-more.sql'), 'insert into letters values (2)');
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(1);
    expect(await lettersIn(db.pool)).toBe(2);
  });

  test('run once when several nodes start at the same moment', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith(TWO);
    const nodes = Array.from({ length: 4 }, () =>
      openPool({ places: [{ connectionString: db.url }], log: silentLog }),
    );
    const ran = await Promise.all(
      nodes.map((pool) => migrate(pool, silentLog, { folder: folder.path })),
    );
    expect(ran.toSorted()).toEqual([0, 0, 0, 2]);
    expect(await lettersIn(db.pool)).toBe(1);
    await Promise.all(nodes.map((pool) => pool.end()));
  });

  test('may take longer than any answer, and so may the wait for another node', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith({
      ...TWO,
      '0003-slow.sql': 'select pg_sleep(0.5); insert into letters values (2);',
    });
    const nodes = Array.from({ length: 2 }, () =>
      openPool({ places: [{ connectionString: db.url }], log: silentLog, silentMsMax: 100 }),
    );
    const ran = await Promise.all(
      nodes.map((pool) => migrate(pool, silentLog, { folder: folder.path })),
    );
    expect(ran.toSorted()).toEqual([0, 3]);
    expect(await lettersIn(db.pool)).toBe(2);
    await Promise.all(nodes.map((pool) => pool.end()));
  });

  test('of another node are not waited for by one that is told to leave', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith(TWO);
    const other = await db.pool.connect();
    await other.query('select pg_advisory_lock(1886352244, 3)');
    const leaving = new AbortController();
    let told = '';
    const write = (line: string) => {
      told += JSON.parse(line).msg;
      leaving.abort();
    };
    const log = createLog({ level: 'info', destination: { write } });
    const waits = migrate(db.pool, log, { folder: folder.path, leaving: leaving.signal });
    await expect(waits).rejects.toThrow('aborted');
    expect(told).toBe('waiting for another node, which works on the schema');
    other.release(true);
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(2);
  });

  test('that fail are undone whole, and those before stay', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith({
      ...TWO,
      '0003-broken.sql': 'insert into letters values (2); insert into nowhere values (1);',
    });
    await expect(migrate(db.pool, silentLog, { folder: folder.path })).rejects.toThrow(
      /^The migration 0003-broken\.sql failed and was undone: relation "nowhere"/,
    );
    expect(await lettersIn(db.pool)).toBe(1);
    expect(await migrationsMissing(db.pool, folder.path)).toBe(1);
  });
});

describe('refused in a sentence', () => {
  test('a database that a newer release has moved on', async () => {
    await using db = await freshDatabase({ empty: true });
    await using newer = await folderWith(TWO);
    await using older = await scratchFolder();
    await cp(newer.path, older.path, { recursive: true });
    await rm(path.join(older.path, '0002-stamps.sql'));
    await migrate(db.pool, silentLog, { folder: newer.path });
    await expect(migrate(db.pool, silentLog, { folder: older.path })).rejects.toThrow(
      /already moved on by a newer release of Postrider \(to 0002-stamps\.sql\)/,
    );
  });

  test('a file that changed after it ran; line ends do not count', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith({ '0001-a.sql': 'create table a (n int);\n-- end\n' });
    await migrate(db.pool, silentLog, { folder: folder.path });
    await writeFile(path.join(folder.path, '0001-a.sql'), 'create table a (n int);\r\n-- end\r\n');
    expect(await migrate(db.pool, silentLog, { folder: folder.path })).toBe(0);
    await writeFile(path.join(folder.path, '0001-a.sql'), 'create table a (n text);\n-- end\n');
    await expect(migrate(db.pool, silentLog, { folder: folder.path })).rejects.toThrow(
      /0001-a\.sql ran on this database with another text/,
    );
  });

  test('a gap in the numbers', async () => {
    await using db = await freshDatabase({ empty: true });
    await using folder = await folderWith({ '0002-b.sql': 'select 1' });
    await expect(migrate(db.pool, silentLog, { folder: folder.path })).rejects.toThrow(
      'is not number 1',
    );
  });
});

test('every partitioned table of the real schema is kept up, and no other is named', async () => {
  await using db = await freshDatabase();
  const { rows } = await db.pool.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'p' order by relname`,
  );
  expect(rows.map((row) => row.name)).toEqual(
    PARTITIONED_TABLES.map(({ table }) => table).toSorted(),
  );
});
