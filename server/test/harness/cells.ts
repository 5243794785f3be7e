import { parseDatabaseUrl } from '../../src/db/database-url.ts';
import { openPool, type Pool } from '../../src/db/pool.ts';
import { silentLog } from '../../src/lib/log.ts';
import { ManualClock } from '../../src/lib/manual-clock.ts';
import { WorkspacePurges } from '../../src/privacy/workspace-purges.ts';
import type { TestDatabase } from './database.ts';
import { until } from './until.ts';

/** Several installations in the schemas of one database. */

export async function withPool<T>(
  { url }: TestDatabase,
  schema: string,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = openPool({ hosts: parseDatabaseUrl(url, { schema }), log: silentLog, max: 4 });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Deletes the copy of a workspace that has left, as servers do in the course of a minute. */
export async function purge(database: TestDatabase, schema: string, id: string): Promise<void> {
  const clock = new ManualClock(Date.now());
  await withPool(database, schema, (pool) =>
    until(async () => {
      clock.advance(60_000);
      await new WorkspacePurges({ pool, clock, log: silentLog }).work();
      return (await pool.query('select from workspaces where id = $1', [id])).rowCount === 0;
    }),
  );
}
