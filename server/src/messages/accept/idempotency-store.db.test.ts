import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { acquireKey, deleteExpiredKeys, findKeyRow, releaseKey } from './idempotency-store.ts';

/** The real pool, with a hook before each statement. */
function withMoments(pool: Pool, before: (statement: unknown) => Promise<void>): Pool {
  const query = async (statement: string, values?: unknown[]) => {
    await before(statement);
    return pool.query(statement, values);
  };
  return { query } as unknown as Pool;
}

test('acquires a key that is released between the insert and the lookup', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = Date.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const ref = { workspaceId, mode: 'test', key: 'one', requestHash: '00' } as const;
  expect(await acquireKey(pool, ref, nowMs, 60_000)).toBeUndefined();
  let statements = 0;
  const raced = withMoments(pool, async () => {
    statements += 1;
    // After the insert found the key, before it is looked up.
    if (statements === 2) await releaseKey(pool, ref);
  });
  expect(await acquireKey(raced, ref, nowMs, 60_000)).toBeUndefined();
  expect(await findKeyRow(pool, ref, nowMs)).toMatchObject({ result: null });
});

test('the cleanup reads only what has expired, also when pages are used again', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const nowMs = Date.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const insert = (day: number) =>
    pool.query(
      `insert into idempotency_keys (workspace_id, mode, key, request_hash, created_at)
       select $1, 'test', $2 || '-' || n, '\\x00', to_timestamp($3::float8 / 1000)
         from generate_series(1, 5000) n`,
      [workspaceId, day, nowMs + day * 86_400_000],
    );
  for (let day = 0; day < 3; day++) {
    await insert(day);
    const atMs = nowMs + day * 86_400_000 + 3_600_000;
    while (await deleteExpiredKeys(pool, atMs, 5_000));
    await pool.query('vacuum analyze idempotency_keys');
  }
  const { rows } = await pool.query(
    `explain (analyze, buffers, format json) select ctid from idempotency_keys
      where created_at < to_timestamp($1::float8 / 1000) limit 5000`,
    [nowMs + 86_400_000],
  );
  const { Plan: plan } = rows[0]['QUERY PLAN'][0];
  expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(10);
});
