import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { silentLog } from '../../lib/log.ts';
import { loadSecretKey } from '../secret-key.ts';
import { findBinaries } from './binaries.ts';
import { type EmbeddedOptions, startEmbedded } from './embedded-postgres.ts';
import { isReachableByEveryone, ROOT_METHODS, type RunAsMethod } from './run-as.ts';

/** Starts and stops a real PostgreSQL in temporary folders. */

/** A user without an account. */
const SERVICE_UID = 54_321;
const QUICK = { shared_buffers: '16MB' };
const start = (options: Partial<EmbeddedOptions> & { dataDir: string }) =>
  startEmbedded({ log: silentLog, settings: QUICK, ...options });

async function ask<T>(connection: pg.ClientConfig, statement: string): Promise<T> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query(statement);
    return rows[0] as T;
  } finally {
    await client.end();
  }
}

describe('a first start', () => {
  test('creates a durable database, and a second start finds the data', async () => {
    await using folder = await createTempDir();
    const dataDir = path.join(folder.path, 'not', 'there', 'yet');
    const first = await start({ dataDir });
    const settings = await ask<Record<string, string>>(
      first.connection,
      `select current_database() as database,
              current_setting('server_encoding') as encoding,
              current_setting('data_checksums') as checksums,
              current_setting('fsync') as fsync,
              current_setting('full_page_writes') as full_page_writes,
              current_setting('synchronous_commit') as synchronous_commit,
              current_setting('listen_addresses') as listen_addresses,
              (select datlocale from pg_database where datname = 'postrider') as locale`,
    );
    expect(settings).toEqual({
      database: 'postrider',
      encoding: 'UTF8',
      checksums: 'on',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      locale: 'C.UTF-8',
    });
    await ask(first.connection, `create table kept as select 'data' as word`);
    await first.stop();
    expect(first.pid).toBeUndefined();
    expect(existsSync(path.join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);

    await using second = await start({ dataDir });
    expect(await ask(second.connection, 'select word from kept')).toEqual({ word: 'data' });
  });

  test('creates folders, socket and log that are accessible only to the owner', async () => {
    await using folder = await createTempDir();
    const dataDir = path.join(folder.path, 'data');
    await using _server = await start({ dataDir });
    const modes = await Promise.all(
      ['.', 'postgres', 'postgres/.s.PGSQL.5432', 'postgres.log'].map(async (name) =>
        ((await stat(path.join(dataDir, name))).mode & 0o777).toString(8),
      ),
    );
    expect(modes).toEqual(['700', '700', '700', '600']);
  });

  test('works with a path that exceeds the socket path limit', async () => {
    await using folder = await createTempDir();
    const dataDir = path.join(folder.path, 'x'.repeat(120), "it's a folder", 'y'.repeat(120));
    await using server = await start({ dataDir });
    expect(Buffer.byteLength(server.connection.host)).toBeLessThan(90);
    expect(await ask(server.connection, 'select 1 as one')).toEqual({ one: 1 });
  });
});

describe('as root', () => {
  const isRoot = process.getuid?.() === 0;

  test.each(isRoot ? ROOT_METHODS : (['self'] as RunAsMethod[]))(
    'it runs with the method %s',
    async (method) => {
      await using folder = await createTempDir();
      const dataDir = path.join(folder.path, 'data');
      const open = method !== 'other-user' || (await isReachableByEveryone(dataDir));
      if (!open) {
        await expect(start({ dataDir, methods: [method] })).rejects.toThrow(
          /does not run as root.*DATA_DIR/,
        );
        await chmod(folder.path, 0o711);
      }
      if (
        method !== 'namespace' &&
        isRoot &&
        !(await isReachableByEveryone((await findBinaries()).postgres))
      ) {
        await expect(start({ dataDir, methods: [method] })).rejects.toThrow(/does not run as root/);
        return;
      }
      await using server = await start({ dataDir, methods: [method] });
      expect(await ask(server.connection, 'select 1 as one')).toEqual({ one: 1 });
    },
  );

  test('a folder created with one method works with another', async () => {
    await using folder = await createTempDir();
    const others: RunAsMethod[] = (await isReachableByEveryone((await findBinaries()).postgres))
      ? ['capability', 'namespace']
      : [];
    const methods: RunAsMethod[] = isRoot ? ['namespace', ...others] : ['self'];
    for (const [round, method] of methods.entries()) {
      await using server = await start({ dataDir: folder.path, methods: [method] });
      await ask(server.connection, 'create table if not exists rounds (n int)');
      await ask(server.connection, `insert into rounds values (${round})`);
      const { count } = await ask<{ count: string }>(
        server.connection,
        'select count(*) as count from rounds',
      );
      expect(Number(count)).toBe(round + 1);
    }
  });

  test.runIf(isRoot)('the files of another user stay theirs', async () => {
    if (!(await isReachableByEveryone((await findBinaries()).postgres))) return;
    await using folder = await createTempDir();
    await chmod(folder.path, 0o711);
    const dataDir = path.join(folder.path, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    await chown(dataDir, SERVICE_UID, SERVICE_UID);
    // The second time, the files already have another owner.
    for (const owner of [SERVICE_UID, 0]) {
      await using server = await start({ dataDir });
      expect(await ask(server.connection, 'select 1 as one')).toEqual({ one: 1 });
      await loadSecretKey(dataDir);
      const owners = await Promise.all(
        ['postgres', 'postgres/PG_VERSION', 'postgres.log', 'secret.key'].map(
          async (name) => (await stat(path.join(dataDir, name))).uid,
        ),
      );
      expect(owners, `with files of user ${owner}`).toEqual(Array(4).fill(SERVICE_UID));
      expect((await stat(path.join(dataDir, 'secret.key'))).mode & 0o777).toBe(0o600);
      await server.stop();
      await chown(path.join(dataDir, 'postgres'), 0, 0);
    }
  });

  test('it reports that no method works', async () => {
    await using folder = await createTempDir();
    const attempt = start({ dataDir: folder.path, methods: [] });
    if (isRoot) await expect(attempt).rejects.toThrow('PostgreSQL does not run as root');
    else await (await attempt).stop();
  });
});

describe('refuses with a clear message', () => {
  test('a folder with other content', async () => {
    await using folder = await createTempDir();
    await mkdir(path.join(folder.path, 'postgres'));
    await writeFile(path.join(folder.path, 'postgres', 'notes.txt'), 'hello');
    await expect(start({ dataDir: folder.path })).rejects.toThrow(/is not empty and contains no/);
    expect(await readFile(path.join(folder.path, 'postgres', 'notes.txt'), 'utf8')).toBe('hello');
  });

  test('data of another major version', async () => {
    await using folder = await createTempDir();
    await mkdir(path.join(folder.path, 'postgres'), { mode: 0o700 });
    await writeFile(path.join(folder.path, 'postgres', 'PG_VERSION'), '16\n');
    await expect(start({ dataDir: folder.path })).rejects.toThrow(
      /was created by PostgreSQL 16, and this release includes 18/,
    );
  });

  test('a folder that cannot be created', async () => {
    await using folder = await createTempDir();
    await writeFile(path.join(folder.path, 'file'), '');
    await expect(start({ dataDir: path.join(folder.path, 'file', 'data') })).rejects.toThrow(
      /Cannot create DATA_DIR/,
    );
  });

  test.runIf(process.platform === 'linux')('a folder that is not writable', async () => {
    for (const dataDir of ['/proc', '/sys']) {
      await expect(start({ dataDir })).rejects.toThrow(
        new RegExp(`(Cannot write to )?DATA_DIR ${dataDir}(: | is not writable)`),
      );
    }
    await expect(start({ dataDir: '/proc/none/data' })).rejects.toThrow(/Cannot create DATA_DIR/);
  });

  test('invalid settings, with the error of PostgreSQL', async () => {
    await using folder = await createTempDir();
    await expect(
      start({ dataDir: folder.path, settings: { shared_buffers: 'plenty' } }),
    ).rejects.toThrow(/did not start.*postgres\.log.*invalid value for parameter "shared_buffers"/);
  });
});
