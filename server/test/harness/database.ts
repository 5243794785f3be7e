import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { ensurePartitions } from '../../src/storage/partitions.ts';
import { openPool, type Pool } from '../../src/storage/pool.ts';
import { TEMPLATE_DATABASE } from './global-setup.ts';

/**
 * A database of its own for a test, migrated, with partitions for the present: about 50 ms. It is
 * real PostgreSQL; it goes away with the `await using` that holds it.
 */
export interface TestDatabase extends AsyncDisposable {
  /** For processes that are given a DATABASE_URL. */
  url: string;
  pool: Pool;
}

export interface TestDatabaseOptions {
  /** The time the test believes in, when it is not the present: partitions are made for it too. */
  nowMs?: number;
  /** An empty database: no schema at all. */
  empty?: boolean;
}

export async function freshDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const serverUrl = inject('databaseServerUrl');
  const fault = inject('databaseFault');
  if (fault && !options.empty) throw new Error(fault);
  const name = `test_${randomBytes(6).toString('hex')}`;
  const template = options.empty ? 'template0' : TEMPLATE_DATABASE;
  await onServer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
  const url = serverUrl.replace('@/postgres', `@/${name}`);
  const pool = openPool({ places: [{ connectionString: url }], log: silentLog });
  if (options.nowMs !== undefined) await ensurePartitions(pool, options.nowMs);
  return {
    url,
    pool,
    async [Symbol.asyncDispose]() {
      if (!pool.ending) await pool.end();
      await onServer(serverUrl, `drop database ${name} with (force)`);
    },
  };
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
