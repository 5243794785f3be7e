import { expect, test } from 'vitest';
import { freshDatabase } from '../../test/harness/database.ts';
import { enqueue, newWorkspace } from '../../test/harness/queue.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { openPool, type Pool } from '../storage/pool.ts';
import {
  type ClaimRequest,
  claimDue,
  findRange,
  ROUND_START,
  useIndexesOnly,
} from './claim-store.ts';
import { isSuspect, newLease } from './lease.ts';

/** Goal: claims are fair, never share a row, and survive each other. Method: a real database. */

function storePool(url: string): Pool {
  const pool = openPool({ places: [{ connectionString: url }], log: silentLog, max: 4 });
  useIndexesOnly(pool);
  return pool;
}

async function requestFor(pool: Pool, nowMs: number): Promise<ClaimRequest> {
  return {
    after: ROUND_START,
    nowMs: nowMs + 1_000,
    lease: newLease(),
    leaseEndsAtMs: nowMs + 120_000,
    skipWorkspaces: [],
    queuesMax: 500,
    perQueueMax: 10,
    rowsMax: 1_000,
    range: await findRange(pool, nowMs),
    windowMs: 72 * 3_600_000,
  };
}

test('takes a few of each queue, and leaves out the workspaces that have enough', async () => {
  await using database = await freshDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const big = await newWorkspace(pool, nowMs);
  const small = await newWorkspace(pool, nowMs);
  const many = Array.from({ length: 100 }, (_, n) => `u${n}@big.example`);
  await enqueue(
    pool,
    many.map((to) => ({ workspaceId: big, nowMs, recipients: [to] })),
  );
  await enqueue(pool, [{ workspaceId: small, nowMs, recipients: ['a@small.example'] }]);
  const request = await requestFor(pool, nowMs);
  const first = await claimDue(pool, request);
  expect(first.rows.filter((row) => row.workspace_id === big)).toHaveLength(10);
  expect(first.rows.filter((row) => row.workspace_id === small)).toHaveLength(1);
  expect(first.cursor).toBeUndefined();
  const second = await claimDue(pool, { ...request, skipWorkspaces: [big] });
  expect(second.rows).toHaveLength(0);
  await pool.end();
});

test('goes on behind the last queue when it is cut off by its room', async () => {
  await using database = await freshDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const domains = Array.from({ length: 30 }, (_, n) => `d${n}.example`);
  await enqueue(
    pool,
    domains.map((domain) => ({ workspaceId, nowMs, recipients: [`a@${domain}`] })),
  );
  const request = { ...(await requestFor(pool, nowMs)), rowsMax: 7 };
  const seen: string[] = [];
  let after: ClaimRequest['after'] | undefined = ROUND_START;
  while (after) {
    const claimed = await claimDue(pool, { ...request, after });
    seen.push(...claimed.rows.map((row) => row.recipient));
    after = claimed.cursor;
  }
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.length).toBeGreaterThan(20);
  await pool.end();
});

test('a row whose lease ran out comes with a suspicion, one that was given back without', async () => {
  await using database = await freshDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  await enqueue(pool, [{ workspaceId, nowMs, recipients: ['a@example.org'] }]);
  const request = await requestFor(pool, nowMs);
  const [fresh] = (await claimDue(pool, request)).rows;
  expect(isSuspect(fresh?.lease ?? 1)).toBe(false);
  expect((await claimDue(pool, request)).rows).toHaveLength(0);
  const later = { ...request, lease: newLease(), nowMs: nowMs + 130_000 };
  const [lost] = (await claimDue(pool, later)).rows;
  expect(isSuspect(lost?.lease ?? 0)).toBe(true);
  await pool.end();
});

test('four claimers over the same rows neither share one nor bring the database down', async () => {
  await using database = await freshDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const all = Array.from({ length: 2_000 }, (_, n) => `u${n}@d${n % 20}.example`);
  await enqueue(
    pool,
    all.map((to) => ({ workspaceId, nowMs, recipients: [to] })),
  );
  const request = await requestFor(pool, nowMs);
  const seen: string[] = [];
  const claimer = async () => {
    for (let empty = 0; empty < 3; ) {
      const { rows } = await claimDue(pool, { ...request, lease: newLease(), rowsMax: 60 });
      empty = rows.length === 0 ? empty + 1 : 0;
      seen.push(...rows.map((row) => row.recipient));
    }
  };
  await Promise.all([claimer(), claimer(), claimer(), claimer()]);
  expect(seen).toHaveLength(2_000);
  expect(new Set(seen).size).toBe(2_000);
  await pool.end();
});
