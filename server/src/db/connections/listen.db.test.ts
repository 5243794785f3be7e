import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { silentLog } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { startEmbedded } from '../embedded/embedded-postgres.ts';
import { listen } from './listen.ts';

/** Sends notifications from one session to another, also across a lost connection. */

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase({ empty: true });
});

afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

const until = (met: () => boolean | Promise<boolean>) =>
  vi.waitUntil(met, { timeout: 30_000, interval: 5 });
const open = (clock?: Clock) =>
  listen({
    hosts: [{ connectionString: db.url }],
    log: silentLog,
    ...(clock ? { clock } : {}),
  });
const notify = (channel: string, payload: string) =>
  db.pool.query('select pg_notify($1, $2)', [channel, payload]);
const cutConnections = () =>
  db.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'postrider listen' and datname = current_database()`,
  );

test('a handler receives the notifications of its channel until it is removed', async () => {
  await using listener = open();
  const received: string[] = [];
  const removeHandler = listener.on('keys', (payload) => received.push(`a ${payload}`));
  listener.on('keys', (payload) => received.push(`b ${payload}`));
  await listener.ready;
  listener.on('domains', (payload) => received.push(`c ${payload}`));
  // LISTEN for a channel that is added later takes effect asynchronously.
  await until(async () => {
    await notify('domains', 'again');
    return received.includes('c again');
  });
  await notify('keys', '1');
  await until(() => received.includes('b 1'));
  removeHandler();
  await notify('keys', '2');
  await notify('other', '3');
  await notify('domains', '4');
  await until(() => received.includes('c 4'));
  expect(received.filter((text) => text !== 'c again')).toEqual(['a 1', 'b 1', 'b 2', 'c 4']);
});

test('after a reconnect, gap handlers are called and notifications arrive again', async () => {
  await using listener = open();
  const received: string[] = [];
  let gaps = 0;
  listener.on('keys', (payload) => received.push(payload));
  listener.onGap(() => {
    gaps += 1;
  });
  await listener.ready;
  expect(gaps).toBe(0);
  for (const round of [1, 2]) {
    await cutConnections();
    await until(() => gaps === round);
    await notify('keys', String(round));
    await until(() => received.includes(String(round)));
  }
  expect(received).toEqual(['1', '2']);
});

test('a handler that throws does not affect the others', async () => {
  await using listener = open();
  const received: string[] = [];
  listener.on('keys', () => {
    throw new Error('a bug');
  });
  listener.on('keys', (payload) => received.push(payload));
  await listener.ready;
  await notify('keys', 'on');
  await until(() => received.length === 1);
});

test('a stopped listener receives nothing and does not reconnect', async () => {
  const listener = open();
  const received: string[] = [];
  listener.on('keys', (payload) => received.push(payload));
  await listener.ready;
  await listener.stop();
  await notify('keys', 'late');
  // PostgreSQL closes its side of a connection a moment after the client.
  await until(async () => {
    const { rowCount } = await db.pool.query(
      `select from pg_stat_activity
        where application_name = 'postrider listen' and datname = current_database()`,
    );
    return rowCount === 0;
  });
  expect(received).toEqual([]);
});

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

test('while echoes arrive, caches may use for an hour what was read since the listener began', async () => {
  const clock = new ManualClock(1_000_000);
  await using listener = open(clock);
  listener.on('keys', () => {});
  expect(listener.cacheMaxAgeMs).toBe(1_000);
  await listener.ready;
  expect(listener.cacheMaxAgeMs).toBe(MINUTE_MS);
  const age = async (wanted: number) =>
    until(() => {
      clock.advance(5_000);
      return listener.cacheMaxAgeMs >= wanted;
    });
  await age(5 * MINUTE_MS);
  expect(listener.cacheMaxAgeMs).toBe(clock.now() - 1_000_000);
  await age(HOUR_MS);
  expect(listener.cacheMaxAgeMs).toBe(HOUR_MS);
  // What belongs to a new channel may have changed unnoticed before.
  listener.on('domains', () => {});
  await until(() => listener.cacheMaxAgeMs === MINUTE_MS);
  await cutConnections();
  await until(() => listener.cacheMaxAgeMs === 1_000);
});

test('a commit that takes long is not overlooked: until it is notified, nothing is confirmed', async () => {
  await using folder = await createTempDir();
  await using server = await startEmbedded({
    dataDir: folder.path,
    log: silentLog,
    settings: { shared_buffers: '16MB' },
  });
  await using sessions = new AsyncDisposableStack();
  const [committer, observer] = await Promise.all(
    [1, 2].map(async () => {
      const client = new pg.Client(server.connection);
      await client.connect();
      sessions.defer(() => client.end());
      return client;
    }),
  );
  const clock = new ManualClock(1_000_000);
  const received: string[] = [];
  await using listener = listen({ hosts: [server.connection], log: silentLog, clock });
  listener.on('keys', (payload) => received.push(payload));
  await listener.ready;
  const confirmed = async () =>
    until(() => {
      clock.advance(5_000);
      return listener.cacheMaxAgeMs > MINUTE_MS;
    });
  await confirmed();

  await committer?.query(`set application_name = 'committer'; create table t ()`);
  // Commits wait for a standby that does not exist, and hold the lock of notifications meanwhile.
  await observer?.query(`alter system set synchronous_standby_names = 'absent'`);
  await observer?.query('select pg_reload_conf()');
  const waits = async (name: string, waitsFor: string): Promise<boolean> => {
    const { rowCount } = (await observer?.query(
      'select from pg_stat_activity where application_name = $1 and wait_event = $2',
      [name, waitsFor],
    )) ?? { rowCount: 0 };
    return rowCount === 1;
  };
  let done = true;
  let n = 0;
  await until(async () => {
    // The setting may take effect after the first commits.
    if (done) {
      done = false;
      n += 1;
      const commit = `begin; insert into t default values; select pg_notify('keys', '${n}'); commit`;
      committer?.query(commit).then(
        () => {
          done = true;
        },
        () => {},
      );
    }
    return waits('committer', 'SyncRep');
  });

  await until(() => {
    clock.advance(5_000);
    return listener.cacheMaxAgeMs === MINUTE_MS;
  });
  await until(async () => {
    clock.advance(5_000);
    return waits('postrider listen', 'object');
  });
  // Its echo gives up, and the connection stays.
  await until(async () => !(await waits('postrider listen', 'object')));
  expect(listener.connected).toBe(true);
  expect(listener.cacheMaxAgeMs).toBe(MINUTE_MS);
  expect(received).not.toContain(String(n));

  await observer?.query(
    `select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'committer'`,
  );
  await confirmed();
  expect(received).toContain(String(n));
});
