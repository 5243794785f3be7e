import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database.ts';
import { newWorkspace } from '../../../test/harness/enqueue-messages.ts';
import type { Pool } from '../../db/pool.ts';
import { acquireKey, findKeyRow, releaseKey } from './idempotency-store.ts';

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
