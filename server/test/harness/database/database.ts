import { randomBytes } from 'node:crypto';
import path from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import {
  type EmbeddedPostgres,
  startEmbedded,
} from '../../../src/db/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/db/schema/migrate.ts';
import { ensurePartitions } from '../../../src/db/schema/partitions.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';

/**
 * A migrated database for one test, with partitions for the current time: a copy of a template database
 * in the PostgreSQL of this worker. It is dropped at the end of the `await using` scope.
 */
export interface TestDatabase extends AsyncDisposable {
  /** For child processes. */
  url: string;
  pool: Pool;
  /** `false` terminates all connections and refuses new ones. */
  allowConnections(yes: boolean): Promise<void>;
}

export interface TestDatabaseOptions {
  /** The time of the test's clock if it is not the current time: creates partitions for it too. */
  nowMs?: number;
  /** Create a database without a schema. */
  empty?: boolean;
}

export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = await testServer();
  const name = `test_${randomBytes(6).toString('hex')}`;
  if (!options.empty) await testTemplate(server);
  const source = options.empty ? 'template0' : TEMPLATE;
  await onServer(server, (client) =>
    client.query(`create database ${name} template ${source} strategy file_copy`),
  );
  const url = urlOf(server, name);
  const pool = openPool({ hosts: [{ connectionString: url }], log: silentLog });
  if (options.nowMs !== undefined) await ensurePartitions(pool, options.nowMs);
  return {
    url,
    pool,
    async allowConnections(yes) {
      await onServer(server, async (client) => {
        await client.query(`alter database ${name} allow_connections ${yes}`);
        if (yes) return;
        await client.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
          [name],
        );
      });
    },
    async [Symbol.asyncDispose]() {
      if (!pool.ending) await pool.end();
      await onServer(server, (client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

const TEMPLATE = 'postrider_template';

/** Durability is not needed; skipping fsync makes the run faster. The folder may be in memory. */
const SETTINGS = {
  fsync: 'off',
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '256MB',
};

let server: Promise<EmbeddedPostgres> | undefined;
let template: Promise<void> | undefined;

/**
 * One PostgreSQL per worker, started by the first file that needs it. Workers do not share one: the
 * event feed ends at the oldest open transaction of the whole PostgreSQL, so a test that holds a
 * transaction open would delay the events of others.
 */
function testServer(): Promise<EmbeddedPostgres> {
  server ??= startEmbedded({
    dataDir: path.join(inject('databaseFolder'), process.env.VITEST_POOL_ID ?? '1'),
    log: silentLog,
    holder: 'command',
    settings: SETTINGS,
  });
  return server;
}

function testTemplate(server: EmbeddedPostgres): Promise<void> {
  template ??= makeTemplate(server);
  return template;
}

function makeTemplate(server: EmbeddedPostgres): Promise<void> {
  return onServer(server, async (client) => {
    await client.query('select pg_advisory_lock(1)');
    const known = await client.query('select from pg_database where datname = $1', [TEMPLATE]);
    if (known.rowCount) return;
    const draft = `${TEMPLATE}_draft`;
    await client.query(`drop database if exists ${draft} with (force)`);
    await client.query(`create database ${draft}`);
    const pool = openPool({ hosts: [{ connectionString: urlOf(server, draft) }], log: silentLog });
    try {
      await migrate(pool, silentLog);
      await ensurePartitions(pool, systemClock.now());
    } finally {
      await pool.end();
    }
    await client.query(`alter database ${draft} rename to ${TEMPLATE}`);
  });
}

function urlOf({ connection }: EmbeddedPostgres, database: string): string {
  return `postgresql://${connection.user}@/${database}?host=${encodeURIComponent(connection.host)}`;
}

async function onServer<T>(
  { connection }: EmbeddedPostgres,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...connection, database: 'postgres' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
