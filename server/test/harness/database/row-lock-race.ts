import { expect } from 'vitest';
import type { TestApp } from '../app.ts';

/**
 * Makes a race deterministic: locks rows, waits until all requests are blocked on a lock, then releases
 * them together.
 */
export async function raceForLock<T>(
  app: Pick<TestApp, 'database'>,
  rows: { sql: string; values: unknown[] },
  requests: readonly (() => Promise<T>)[],
): Promise<T[]> {
  const client = await app.database.pool.connect();
  try {
    await client.query('begin');
    await client.query(rows.sql, rows.values);
    const answers = requests.map((request) => request());
    await expect.poll(() => waitingIn(app)).toBe(requests.length);
    await client.query('commit');
    return await Promise.all(answers);
  } finally {
    client.release(true);
  }
}

async function waitingIn(app: Pick<TestApp, 'database'>): Promise<number> {
  const { rows } = await app.database.pool.query<{ waiting: number }>(
    `select count(*) as waiting from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.waiting ?? 0;
}
