import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { startDatabaseProxy } from '../../../test/harness/database/database-proxy.ts';
import { createLog, silentLog } from '../../lib/log.ts';
import { migrate } from '../schema/migrate.ts';
import { sqlTime } from '../schema/row-types.ts';
import { isConnectionError } from './database-errors.ts';
import { inTransaction, openPool, type Pool } from './pool.ts';

/** The pool against a real database: values, errors, lost connections and failover. */

const PATIENT = { timeout: 30_000 };

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase({ empty: true });
});

afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

async function backend(): Promise<number> {
  const { rows } = await db.pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid as number;
}

describe('values', () => {
  test('times are milliseconds in both directions, also before the epoch and in arrays', async () => {
    const times = [0, 1, -1, 1_762_732_800_123, Date.UTC(9999, 11, 31)];
    const { rows } = await db.pool.query<{ one: number; many: number[]; none: null }>(
      'select $1::timestamptz as one, $2::timestamptz[] as many, null::timestamptz as none',
      [sqlTime(1_762_732_800_123), times.map((time) => sqlTime(time))],
    );
    expect(rows).toEqual([{ one: 1_762_732_800_123, many: times, none: null }]);
  });

  test('microseconds are truncated to milliseconds', async () => {
    const { rows } = await db.pool.query<{ t: number }>(
      `select unnest(array['1970-01-01 00:00:01.0005+00', '1970-01-01 05:00:01.5+05']::timestamptz[]) as t`,
    );
    expect(rows).toEqual([{ t: 1000 }, { t: 1500 }]);
  });

  test('int8 is a number in the safe range, and an error outside', async () => {
    const { rows } = await db.pool.query('select count(*) as n, array[1::int8, null] as many');
    expect(rows).toEqual([{ n: 1, many: [1, null] }]);
    await expect(db.pool.query('select 9007199254740993::int8 as n')).rejects.toThrow(RangeError);
  });

  test('dates and numerics stay text, in any time zone', async () => {
    const { rows } = await db.pool.query(`select '2026-11-09'::date as d, 1.50::numeric as n`);
    expect(rows).toEqual([{ d: '2026-11-09', n: '1.50' }]);
  });
});

describe('sessions', () => {
  test('JIT and parallel plans are off, whatever the database settings', async () => {
    await using other = await createTestDatabase({ empty: true });
    await other.pool.query(
      `do $$ begin
         execute format('alter database %I set jit = on', current_database());
         execute format('alter database %I set max_parallel_workers_per_gather = 2', current_database());
         execute format('alter database %I set timezone = ''Asia/Tokyo''', current_database());
       end $$`,
    );
    const pool = openPool({ hosts: [{ connectionString: other.url }], log: silentLog });
    const { rows } = await pool.query(
      `select name, setting from pg_settings
        where name in ('TimeZone', 'jit', 'max_parallel_workers_per_gather') order by name`,
    );
    expect(rows).toEqual([
      { name: 'TimeZone', setting: 'UTC' },
      { name: 'jit', setting: 'off' },
      { name: 'max_parallel_workers_per_gather', setting: '0' },
    ]);
    await pool.end();
  });
});

describe('errors', () => {
  test('a database that dies right after the login is a connection error, not a crash', async () => {
    await using dying = await dyingDatabase();
    const pool = openPool({ hosts: [{ connectionString: dying.url }], log: silentLog });
    const error = await pool.query('select 1').catch((failure: unknown) => failure);
    expect(isConnectionError(error)).toBe(true);
    await pool.end();
  });

  test('refused logins are connection errors, and the pool recovers', async () => {
    await using fenced = await createTestDatabase({ empty: true });
    await fenced.allowConnections(false);
    const failure = await fenced.pool.query('select 1').catch((error: unknown) => error);
    expect(String((failure as Error).cause)).toMatch(/is not currently accepting connections/);
    expect(isConnectionError(failure)).toBe(true);
    await fenced.allowConnections(true);
    expect((await fenced.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('a failed statement keeps the connection', async () => {
    const before = await backend();
    await expect(db.pool.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
    expect(await backend()).toBe(before);
  });

  test('a lost connection fails its statement and is replaced', async () => {
    const before = await backend();
    const failure = await db.pool
      .query('select pg_terminate_backend(pg_backend_pid())')
      .catch((error: unknown) => error);
    expect(isConnectionError(failure)).toBe(true);
    expect(await backend()).not.toBe(before);
  });

  test('a connection lost between the statements of a transaction fails only that transaction', async () => {
    await using other = await createTestDatabase({ empty: true });
    const failure = await inTransaction(other.pool, async (client) => {
      const { rows } = await client.query('select pg_backend_pid() as pid');
      const lost = new Promise((resolve) => client.once('end', resolve));
      await db.pool.query('select pg_terminate_backend($1)', [rows[0].pid]);
      await lost;
      await client.query('select 1');
    }).catch((error: unknown) => error);
    expect(isConnectionError(failure)).toBe(true);
    expect((await other.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('a statement that takes too long is cancelled', async () => {
    const pool = openPool({
      hosts: [{ connectionString: db.url }],
      log: silentLog,
      statementTimeoutMs: 50,
    });
    const failure = await pool.query('select pg_sleep(30)').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: '57014' });
    await pool.end();
  });

  test('a connection to an unresponsive server is closed, and an idle one is kept', async () => {
    await using way = await startDatabaseProxy(db.url);
    const pool = openPool({
      hosts: [{ connectionString: way.url }],
      log: silentLog,
      max: 1,
      unresponsiveMsMax: 1_000,
    });
    const session = async () =>
      (await pool.query('select pg_backend_pid() as pid')).rows[0].pid as number;
    const first = await session();
    // Longer than the timeout, but no statement is running.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(await session()).toBe(first);
    way.stall();
    const failure = await session().catch((error: unknown) => error);
    expect(isConnectionError(failure)).toBe(true);
    expect(await session()).not.toBe(first);
    await pool.end();
  });
});

describe('transactions', () => {
  test('commit on return and roll back on throw', async () => {
    await db.pool.query('create table moves (n int)');
    await inTransaction(db.pool, (client) => client.query('insert into moves values (1)'));
    await expect(
      inTransaction(db.pool, async (client) => {
        await client.query('insert into moves values (2)');
        throw new Error('changed our mind');
      }),
    ).rejects.toThrow('changed our mind');
    expect((await db.pool.query('select n from moves')).rows).toEqual([{ n: 1 }]);
  });
});

test('a read-only database is a connection error, until it accepts writes', async () => {
  await using standby = await createTestDatabase({ empty: true });
  const readOnly = (on: boolean) =>
    standby.pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${on}', current_database()); end $$`,
    );
  await readOnly(true);
  const pool = openPool({ hosts: [{ connectionString: standby.url }], log: silentLog });
  const failure = await pool.query('select 1').catch((error: unknown) => error);
  expect(isConnectionError(failure)).toBe(true);
  expect(String((failure as Error).cause)).toMatch(/is read-only/);
  await readOnly(false);
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

test('a provider may refuse functions of the write-ahead log', async () => {
  await using database = await createTestDatabase();
  await database.pool.query(
    `create or replace function pg_catalog.pg_walfile_name(pg_lsn) returns text language plpgsql
       as $$ begin raise feature_not_supported; end $$`,
  );
  const pool = openPool({ hosts: [{ connectionString: database.url }], log: silentLog });
  expect(await migrate(pool, silentLog)).toBe(0);
  expect((await pool.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
  await pool.end();
});

describe('several hosts', () => {
  test('the primary is found after a host that is down and one that is read-only', async () => {
    const lines: string[] = [];
    await using standby = await createTestDatabase({ empty: true });
    await standby.pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    );
    const pool = openPool({
      hosts: [
        { connectionString: 'postgres://nobody@127.0.0.1:1/nowhere' },
        { connectionString: standby.url },
        { connectionString: db.url },
      ],
      log: createLog({ level: 'info', destination: { write: (line) => lines.push(line) } }),
    });
    const { rows } = await pool.query('select current_database() as name');
    expect(db.url).toContain(rows[0].name);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      'primary database lost: trying all hosts',
      'primary database found',
    ]);
    await pool.end();
  });

  test('connections to an unresponsive host are closed when the primary is found elsewhere', async () => {
    await using first = await createTestDatabase({ empty: true });
    await using way = await startDatabaseProxy(first.url);
    const hosts = [{ connectionString: way.url }, { connectionString: db.url }] as const;
    // No timeout fires during the test.
    const open = () => openPool({ hosts, log: silentLog, unresponsiveMsMax: 3_600_000 });
    const [pool, other] = [open(), open()];
    const here = async (one: Pool) =>
      (await one.query('select current_database() as name')).rows[0].name as string;
    expect(first.url).toContain(await here(pool));
    expect(first.url).toContain(await here(other));
    await first.pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    );
    way.stall();
    const unanswered = [here(pool), here(other)].map((query) => query.catch(isConnectionError));
    // All connections are in use, so this one is new.
    expect(db.url).toContain(await here(pool));
    expect(await Promise.all(unanswered)).toEqual([true, true]);
    expect(db.url).toContain(await here(other));
    await Promise.all([pool.end(), other.end()]);
  });

  test('a primary that becomes a standby is abandoned', async () => {
    await using first = await createTestDatabase({ empty: true });
    const pool = openPool({
      hosts: [{ connectionString: first.url }, { connectionString: db.url }],
      log: silentLog,
    });
    const here = async () =>
      (await pool.query('select current_database() as name')).rows[0].name as string;
    expect(first.url).toContain(await here());
    await pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    );
    await pool.query('set default_transaction_read_only = on');
    const refusal = await pool.query('create table t (n int)').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: '25006' });
    expect(isConnectionError(refusal)).toBe(true);
    const name = await vi.waitUntil(() => here().catch(() => undefined), PATIENT);
    expect(db.url).toContain(name);
    await pool.end();
  });
});

/** Accepts a login and ends in the same packet, as PostgreSQL does if its postmaster is killed. */
async function dyingDatabase(): Promise<AsyncDisposable & { url: string }> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.end(
        Buffer.concat([
          packet('R', Buffer.alloc(4)),
          packet('Z', Buffer.from('I')),
          packet('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Munexpected postmaster exit\0\0')),
        ]),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    url: `postgres://u@127.0.0.1:${port}/d`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function packet(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
