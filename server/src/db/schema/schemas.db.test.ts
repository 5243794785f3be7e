import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { lockForTransaction, tryLockForTransaction, trySessionLock } from '../advisory-lock.ts';
import { parseDatabaseUrl } from '../connections/database-url.ts';
import { listen } from '../connections/listen.ts';
import { channel } from '../connections/notification-channels.ts';
import { inTransaction, openPool, type Pool } from '../connections/pool.ts';
import { LOCKS } from '../lock-numbers.ts';
import { migrate, migrationsMissing } from './migrate.ts';
import { ensurePartitions, partitionsEndMs } from './partitions.ts';

/** Installations in schemas of one database share nothing: tables, locks, notifications. */

let database: TestDatabase;
const pools: Record<string, Pool> = {};

const hostsOf = (schema: string) => parseDatabaseUrl(database.url, { schema });

function poolOf(schema: string): Pool {
  pools[schema] ??= openPool({ hosts: hostsOf(schema), log: silentLog });
  return pools[schema];
}

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
});
afterAll(async () => {
  for (const pool of Object.values(pools)) await pool.end();
  await database[Symbol.asyncDispose]();
});

test('nodes of two schemas migrate at the same time, and public stays empty', async () => {
  const [one, two] = [poolOf('one'), poolOf('two')];
  const applied = await Promise.all([one, one, two, two].map((pool) => migrate(pool, silentLog)));
  expect(applied.filter((count) => count > 0)).toHaveLength(2);
  expect([await migrationsMissing(one), await migrationsMissing(two)]).toEqual([0, 0]);
  const nowMs = systemClock.now();
  const created = await Promise.all([one, two].map((pool) => ensurePartitions(pool, nowMs)));
  expect(created[0]).toEqual(created[1]);
  expect(await partitionsEndMs(two, nowMs)).toBeGreaterThan(nowMs);
  const { rows } = await database.pool.query<{ schema: string; tables: number }>(
    `select n.nspname as schema, count(*)::int as tables
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ('one', 'two', 'public') group by 1 order by 1`,
  );
  expect(rows.map((row) => row.schema)).toEqual(['one', 'two']);
  expect(rows[0]?.tables).toBe(rows[1]?.tables);
});

test('a schema whose name is a keyword of SQL can be used', async () => {
  const pool = poolOf('user');
  expect(await migrate(pool, silentLog)).toBeGreaterThan(0);
  expect(await migrate(pool, silentLog)).toBe(0);
});

test('locks of one schema do not exclude those of another', async () => {
  const [one, other, two] = await Promise.all([
    poolOf('one').connect(),
    poolOf('one').connect(),
    poolOf('two').connect(),
  ]);
  try {
    expect(await trySessionLock(one, LOCKS.partitions)).toBe(true);
    expect(await trySessionLock(other, LOCKS.partitions)).toBe(false);
    expect(await trySessionLock(two, LOCKS.partitions)).toBe(true);
  } finally {
    for (const client of [one, other, two]) client.release(true);
  }
  await inTransaction(poolOf('one'), async (first) => {
    expect(await tryLockForTransaction(first, LOCKS.alarms)).toBe(true);
    await lockForTransaction(first, 'streams', 'workspace');
    expect(await tryLockForTransaction(poolOf('one'), LOCKS.alarms)).toBe(false);
    await inTransaction(poolOf('two'), async (second) => {
      expect(await tryLockForTransaction(second, LOCKS.alarms)).toBe(true);
      await second.query(`set local lock_timeout = '1s'`);
      await lockForTransaction(second, 'streams', 'workspace');
    });
    // The same lock in the same schema has to wait.
    await expect(
      inTransaction(poolOf('one'), async (second) => {
        await second.query(`set local lock_timeout = '50ms'`);
        await lockForTransaction(second, 'streams', 'workspace');
      }),
    ).rejects.toThrow('lock timeout');
  });
});

test('notifications of one schema do not arrive in another', async () => {
  const received: string[] = [];
  await using one = listen({ hosts: hostsOf('one'), log: silentLog });
  await using two = listen({ hosts: hostsOf('two'), log: silentLog });
  await using shared = listen({ hosts: parseDatabaseUrl(database.url), log: silentLog });
  one.on('domains', (payload) => received.push(`one ${payload}`));
  two.on('domains', (payload) => received.push(`two ${payload}`));
  shared.on('domains', (payload) => received.push(`public ${payload}`));
  await Promise.all([one.ready, two.ready, shared.ready]);
  const notify = `select pg_notify(${channel('domains')}, $1)`;
  // Each connection receives notifications in the order of their commits, so the last one ends the test.
  await poolOf('one').query(notify, ['a']);
  await poolOf('two').query(notify, ['b']);
  await database.pool.query(notify, ['c']);
  for (const pool of [poolOf('one'), poolOf('two'), database.pool]) await pool.query(notify, ['z']);
  await vi.waitUntil(() => received.filter((text) => text.endsWith('z')).length === 3, {
    timeout: 30_000,
  });
  expect(received.filter((text) => !text.endsWith('z')).sort()).toEqual([
    'one a',
    'public c',
    'two b',
  ]);
});

test('a user without the right to create the schema gets a clear error', async () => {
  await database.pool.query('create role guest login');
  try {
    const url = database.url.replace(/\/\/[^@]*@/, '//guest@');
    const pool = openPool({ hosts: parseDatabaseUrl(url, { schema: 'mine' }), log: silentLog });
    await expect(migrate(pool, silentLog)).rejects.toThrow(
      /^Cannot create the schema of DATABASE_SCHEMA: permission denied for database/,
    );
    await pool.end();
  } finally {
    await database.pool.query('drop role guest');
  }
});
