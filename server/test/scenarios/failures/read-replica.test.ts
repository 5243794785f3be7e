import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import { ReadReplica } from '../../../src/db/connections/read-replica.ts';
import {
  type EmbeddedPostgres,
  startEmbedded,
} from '../../../src/db/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/db/schema/migrate.ts';
import { ensurePartitions } from '../../../src/db/schema/partitions.ts';
import { appendEvents, EVENT_LOG_START } from '../../../src/events/events-store.ts';
import { readFeed } from '../../../src/events/feed-store.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp } from '../../harness/app.ts';
import { member } from '../../harness/browser/dashboard-session.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/** A primary and a hot standby that streams from it: two PostgreSQL servers, one a copy of the other. */

const SETTINGS = {
  hot_standby: 'on',
  fsync: 'off',
  shared_buffers: '16MB',
  max_standby_streaming_delay: '-1',
};
const cleanup = new AsyncDisposableStack();
let standby: EmbeddedPostgres;
let primaryPool: Pool;
let standbyPool: Pool;
let primaryUrl: string;
let standbyUrl: string;

const urlOf = ({ connection: { user, host, database } }: EmbeddedPostgres) =>
  `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}`;

const start = (dataDir: string, settings: Record<string, string> = {}) =>
  startEmbedded({ dataDir, log: silentLog, settings: { ...SETTINGS, ...settings } });

beforeAll(async () => {
  const folder = cleanup.use(await createTempDir());
  const [primaryDir, standbyDir] = ['a', 'b'].map((name) => path.join(folder.path, name)) as [
    string,
    string,
  ];
  const first = await start(primaryDir);
  const pool = openPool({ hosts: [first.connection], log: silentLog });
  await migrate(pool, silentLog);
  await ensurePartitions(pool, systemClock.now());
  await pool.end();
  await first.stop();
  execFileSync('cp', ['-a', primaryDir, standbyDir]);
  writeFileSync(path.join(standbyDir, 'postgres', 'standby.signal'), '');
  const primary = cleanup.use(await start(primaryDir));
  standby = cleanup.use(
    await start(standbyDir, {
      primary_conninfo: `host=${path.join(primaryDir, 'postgres')} user=${primary.connection.user}`,
    }),
  );
  [primaryUrl, standbyUrl] = [urlOf(primary), urlOf(standby)];
  primaryPool = openPool({ hosts: [primary.connection], log: silentLog });
  standbyPool = openPool({ hosts: [standby.connection], log: silentLog, role: 'standby' });
  cleanup.defer(() => primaryPool.end());
  cleanup.defer(() => standbyPool.end());
});

afterAll(() => cleanup.disposeAsync());

/** The database belongs to this file, not to the app. */
const NOT_DROPPED = {
  allowConnections: () => Promise.reject(new Error('not supported')),
  async [Symbol.asyncDispose]() {},
};

const pauseReplay = () => standbyPool.query('select pg_wal_replay_pause()');
const resumeReplay = () => standbyPool.query('select pg_wal_replay_resume()');

async function isOnStandby(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('select pg_is_in_recovery() as standby');
  return rows[0].standby;
}

async function caughtUp(): Promise<void> {
  const { rows } = await primaryPool.query('select pg_current_wal_lsn() as position');
  await until(async () => {
    const answer = await standbyPool.query('select pg_last_wal_replay_lsn() >= $1 as reached', [
      rows[0].position,
    ]);
    return answer.rows[0].reached;
  });
}

test('reads use the standby while it keeps up', async () => {
  const clock = new ManualClock(0);
  const options = { readUrl: standbyUrl, primary: primaryPool, connectionsMax: 2, clock };
  await using replica = await ReadReplica.open({ ...options, log: silentLog });
  const usesStandby = (expected: boolean) =>
    until(async () => (await replica.run(isOnStandby)) === expected, { clock, stepMs: 1_000 });
  expect(await replica.run(isOnStandby)).toBe(true);
  expect(replica.lagMs).toBe(0);

  await pauseReplay();
  await newWorkspace(primaryPool, systemClock.now());
  await usesStandby(false);
  expect(replica.lagMs).toBeGreaterThan(10_000);
  expect(clock.now()).toBeGreaterThan(10_000);

  await resumeReplay();
  await usesStandby(true);

  // A lost connection is noticed by the read, which the primary answers.
  let runs = 0;
  const interrupted = replica.run(async (pool) => {
    runs += 1;
    if (runs > 1) return isOnStandby(pool);
    const { rows } = await pool.query('select pg_terminate_backend(pg_backend_pid())');
    return rows.length === 1;
  });
  expect(await interrupted).toBe(false);
  expect(runs).toBe(2);
  await usesStandby(true);

  // An error of the work itself is an answer.
  await expect(replica.run((pool) => pool.query('select 1 / 0'))).rejects.toThrow('division');
});

test('a server starts without its standby, but not with another database', async () => {
  const clock = new ManualClock(0);
  const options = { primary: primaryPool, connectionsMax: 2, clock, log: silentLog };
  const gone = 'postgresql://postrider@127.0.0.1:1/postrider';
  await using replica = await ReadReplica.open({ ...options, readUrl: gone });
  expect(await replica.run(isOnStandby)).toBe(false);
  expect(replica.lagMs).toBeUndefined();

  await using other = await createTestDatabase({ empty: true });
  await expect(ReadReplica.open({ ...options, readUrl: other.url })).rejects.toThrow(
    'DATABASE_READ_URL is not a standby of the database at DATABASE_URL.',
  );
  await expect(ReadReplica.open({ ...options, readUrl: 'postgres://u@db:x/d' })).rejects.toThrow(
    'A port in DATABASE_READ_URL is not between 1 and 65535.',
  );
});

test('a reader of the feed on the standby misses no event', async () => {
  const workspaceId = await newWorkspace(primaryPool, systemClock.now());
  const scope = { workspaceId, mode: 'live' } as const;
  const event = { ...scope, type: 'template.published' } as const;
  const EVENTS = 200;
  let written = 0;
  // Transactions that overlap and commit in another order than they began.
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    while (written < EVENTS) {
      const key = `${written++}`;
      const client = await primaryPool.connect();
      try {
        await client.query('begin');
        const data = { template: { key, version: 1 } };
        await appendEvents(client, [{ ...event, atMs: systemClock.now(), data }]);
        for (let turn = 0; turn < (writer * 7 + written) % 5; turn++) await client.query('select');
        await client.query('commit');
      } finally {
        client.release();
      }
    }
  });
  const seen: string[] = [];
  let from = EVENT_LOG_START;
  const all = Promise.all(writers);
  await until(async () => {
    const page = await readFeed(standbyPool, scope, from, 7);
    from = page.next;
    seen.push(...page.events.map(({ data }) => (data.template as { key: string }).key));
    return seen.length >= EVENTS;
  });
  await all;
  expect(seen.map(Number).sort((a, b) => a - b)).toEqual(
    Array.from({ length: written }, (_, index) => index),
  );
});

test('programs list from the standby, people from the primary', async () => {
  await using server = await startApp({
    database: { url: primaryUrl, pool: primaryPool, ...NOT_DROPPED },
    env: { DATABASE_READ_URL: standbyUrl },
  });
  const { visitor: session } = await member(server, 'owner');
  await caughtUp();
  await pauseReplay();
  const contact = { email: 'new@example.com' };
  expect((await server.call('POST', '/contacts', { body: contact })).status).toBe(201);
  const listed = async (from: { call: typeof server.call }) =>
    (await from.call('GET', '/contacts')).json.data.length;
  expect(await listed(server)).toBe(0);
  expect(await listed(session)).toBe(1);
  expect((await server.call('GET', `/contacts/${contact.email}`)).status).toBe(200);
  for (const list of ['/messages', '/events', '/stats', '/contacts/export'])
    expect((await server.call('GET', list)).status).toBe(200);
  await resumeReplay();
  await until(async () => (await listed(server)) === 1);

  await standby.stop();
  expect(await listed(server)).toBe(1);
  const metrics = await (await fetch(new URL('/metrics', server.url))).text();
  expect(metrics).toMatch(/^postrider_standby_lag_seconds [0-9.]+$/m);
});
