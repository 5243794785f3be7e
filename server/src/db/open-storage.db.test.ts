import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { startTransactionPooler } from '../../test/harness/database/transaction-pooler.ts';
import { createTempDir } from '../../test/harness/temp-dir.ts';
import { silentLog } from '../lib/log.ts';
import { startEmbedded } from './embedded/embedded-postgres.ts';
import { openStorage, type StorageOptions } from './open-storage.ts';

/** Opens embedded and external databases, and checks the messages of failures. */

const KEY = Buffer.alloc(32, 7);

const open = (options: Partial<StorageOptions>) =>
  openStorage({
    dataDir: '/nonexistent',
    databaseUrl: undefined,
    connectionsMax: 4,
    allowUnsafe: false,
    secretKey: KEY,
    log: silentLog,
    holder: 'command',
    ...options,
  });

describe('the embedded database', () => {
  test('creates a persistent secret key that only its owner can read', async () => {
    await using folder = await createTempDir();
    const keys: Buffer[] = [];
    for (const _round of [1, 2]) {
      await using storage = await open({ dataDir: folder.path, secretKey: undefined });
      keys.push(storage.secretKey);
      expect((await storage.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    }
    expect(keys[0]).toHaveLength(32);
    expect(keys[1]?.equals(keys[0] as Buffer)).toBe(true);
    const file = path.join(folder.path, 'secret.key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, 10));
    await expect(open({ dataDir: folder.path, secretKey: undefined })).rejects.toThrow(
      /secret\.key does not contain 64 hexadecimal digits/,
    );
    await writeFile(file, text);
    await using storage = await open({ dataDir: folder.path });
    expect(storage.secretKey).toBe(KEY);
  });
});

describe("an operator's database", () => {
  test('that can lose commits is refused unless allowed', async () => {
    await using folder = await createTempDir();
    await using server = await startEmbedded({
      dataDir: folder.path,
      log: silentLog,
      settings: { fsync: 'off', full_page_writes: 'off', shared_buffers: '16MB' },
    });
    const { user, host, database } = server.connection;
    const databaseUrl = `postgresql://${user}@/${database}?host=${host}`;
    await expect(open({ databaseUrl })).rejects.toThrow(
      'The database has fsync and full_page_writes off, so a crash can lose accepted mail. Turn them on, or set ALLOW_UNSAFE_DATABASE=true to accept the risk.',
    );
    await using storage = await open({ databaseUrl, allowUnsafe: true });
    await storage.pool.query(`alter role ${user} set synchronous_commit = off`);
    await expect(open({ databaseUrl })).rejects.toThrow('synchronous_commit off');
  });

  test('that is too old is refused', async () => {
    await using db = await createTestDatabase({ empty: true });
    // A table that shadows pg_settings simulates an old server.
    await db.pool.query(`
      create table public.pg_settings as select name, setting from pg_catalog.pg_settings;
      update public.pg_settings set setting = '140011' where name = 'server_version_num';
      do $$ begin
        execute format('alter database %I set search_path = public, pg_catalog', current_database());
      end $$;`);
    await expect(open({ databaseUrl: db.url, allowUnsafe: true })).rejects.toThrow(
      'The database at DATABASE_URL is PostgreSQL 14. Postrider needs 15 or newer.',
    );
  });

  test('behind a pooler with shared sessions is refused', async () => {
    await using db = await createTestDatabase({ empty: true });
    await using pooler = await startTransactionPooler(db.url);
    await expect(open({ databaseUrl: pooler.url, allowUnsafe: true })).rejects.toThrow(
      'Postrider needs dedicated sessions',
    );
  });

  test('that is unreachable or has an invalid URL is reported', async () => {
    await using db = await createTestDatabase({ empty: true });
    await expect(open({ databaseUrl: 'https://db.example.com' })).rejects.toThrow(
      'DATABASE_URL is not a PostgreSQL URL',
    );
    await expect(open({ databaseUrl: 'postgres://u:hunter/2#@db.example.com/d' })).rejects.toThrow(
      'special characters in the password must be percent-encoded',
    );
    await expect(open({ databaseUrl: db.url.replace('test_', 'no_') })).rejects.toThrow(
      /^Cannot connect to the database at DATABASE_URL: database "no_.*" does not exist\. Check the user, password and database/,
    );
    await expect(
      open({ databaseUrl: 'postgres://u:hunter2@127.0.0.1:1/postrider' }),
    ).rejects.toThrow(
      /DATABASE_URL: connect ECONNREFUSED 127\.0\.0\.1:1\. Check that PostgreSQL is running/,
    );
  });
});
