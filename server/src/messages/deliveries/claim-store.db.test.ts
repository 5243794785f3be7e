import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { enqueue, newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import { openPool, type Pool } from '../../db/connections/pool.ts';
import { disableNonIndexPlans } from '../../db/schema/index-plans.ts';
import { ENGINE_PLANS } from '../../delivery/claims/delivery-store.ts';
import { silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { newLease } from '../../queue/lease.ts';
import { expireAllLeases } from '../../queue/lease-store.ts';
import { queueShardOf } from '../queue-shard.ts';
import { claimDue, findIdRange, type Queue, scanQueues } from './claim-store.ts';
import { DELIVERIES, isSuspect } from './delivery-lease-store.ts';

/** Goal: concurrent claims are fair and never share a row. Method: a real database. */

function storePool(url: string, max = 4): Pool {
  const pool = openPool({ hosts: [{ connectionString: url }], log: silentLog, max });
  disableNonIndexPlans(pool, ENGINE_PLANS);
  return pool;
}

/** Claims from all queues that the scan finds, whether they have due rows or not. */
async function claimAll(pool: Pool, { nowMs, max = 10 }: { nowMs: number; max?: number }) {
  const range = await findIdRange(pool, nowMs);
  const found = await scanQueues(pool, { after: undefined, queuesMax: 500, range });
  return claimDue(pool, {
    queues: found.map((queue) => ({ ...queue, max })),
    terms: newLease(1, nowMs, 120_000),
    range,
    retryWindowMs: 72 * 3_600_000,
  });
}

test('takes a few rows of each queue', async () => {
  await using database = await createTestDatabase();
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
  const rows = await claimAll(pool, { nowMs });
  expect(rows.filter((row) => row.workspace_id === big)).toHaveLength(10);
  expect(rows.filter((row) => row.workspace_id === small)).toHaveLength(1);
  await pool.end();
});

test('the scan visits every queue once and returns when its first row is due', async () => {
  await using database = await createTestDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const expected = new Map<string, number>();
  for (let workspace = 0; workspace < 3; workspace++) {
    const workspaceId = await newWorkspace(pool, nowMs);
    for (let n = 0; n < 30; n++) {
      const dueAtMs = nowMs + n * 1_000;
      const recipients = [`a@d${n}.example`];
      await enqueue(pool, [{ workspaceId, nowMs, dueAtMs, status: 'scheduled', recipients }]);
      const queue = `${workspaceId}/${queueShardOf(`d${n}.example`)}`;
      expected.set(queue, Math.min(expected.get(queue) ?? dueAtMs, dueAtMs));
    }
  }
  const range = await findIdRange(pool, nowMs);
  const found: [string, number][] = [];
  for (let after: Queue | undefined; ; ) {
    const stretch = await scanQueues(pool, { after, queuesMax: 7, range });
    found.push(...stretch.map((q): [string, number] => [`${q.workspaceId}/${q.shard}`, q.dueAtMs]));
    if (stretch.length < 7) break;
    after = stretch.at(-1);
  }
  expect(found).toHaveLength(expected.size);
  expect(new Map(found)).toEqual(expected);
  await pool.end();
});

test('reads only a few rows of each queue, however many wait there', async () => {
  await using database = await createTestDatabase();
  const pool = storePool(database.url, 1);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const recipients = Array.from({ length: 50 }, (_, n) => `u${n}@example.org`);
  const flood = (fromMs: number) =>
    Array.from({ length: 40 }, (_, n) => ({
      workspaceId,
      nowMs,
      dueAtMs: fromMs + n,
      recipients,
    }));
  await enqueue(pool, flood(nowMs - 1_000));
  await pool.query(`update deliveries set status = 'delivered', due_at = null`);
  // Gives the planner the outdated statistics that a flood meets: all rows finished.
  await pool.query('analyze deliveries');
  await enqueue(pool, flood(nowMs));
  const request = { nowMs: nowMs + 1_000, max: 1 };
  // The first read passes the index entries of finished rows and marks them dead.
  await claimAll(pool, request);
  const before = await rowsRead(pool);
  const claims = 10;
  for (let claim = 0; claim < claims; claim++) {
    expect(await claimAll(pool, request)).toHaveLength(1);
  }
  expect((await rowsRead(pool)) - before).toBeLessThan(claims * 50);
  await pool.end();
});

/** Index tuples read in the queue; the pool has a single session, so the count is its own. */
async function rowsRead(pool: Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ read: number }>(
    `select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname like 'deliveries%'`,
  );
  return rows[0]?.read ?? 0;
}

test('a row whose lease expired is suspect, a released row is not', async () => {
  await using database = await createTestDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  await enqueue(pool, [{ workspaceId, nowMs, recipients: ['a@example.org'] }]);
  const [fresh] = await claimAll(pool, { nowMs });
  expect(isSuspect(fresh?.lease ?? 1)).toBe(false);
  expect(await claimAll(pool, { nowMs })).toHaveLength(0);
  const [lost] = await claimAll(pool, { nowMs: nowMs + 130_000 });
  expect(isSuspect(lost?.lease ?? 0)).toBe(true);
  await pool.end();
});

test('a restart ends leases, and leaves rows alone that wait for a retry', async () => {
  await using database = await createTestDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  await enqueue(pool, [
    { workspaceId, nowMs, recipients: ['leased@one.example'] },
    { workspaceId, nowMs, recipients: ['waits@two.example'] },
  ]);
  await pool.query(
    `update deliveries set status = 'deferred', due_at = $1 where recipient = 'waits@two.example'`,
    [new Date(nowMs + 60_000)],
  );
  expect(await claimAll(pool, { nowMs })).toHaveLength(1);
  expect(await claimAll(pool, { nowMs })).toEqual([]);
  expect(await expireAllLeases(pool, DELIVERIES, nowMs)).toBe(1);
  const claimed = await claimAll(pool, { nowMs });
  expect(claimed.map((row) => row.recipient)).toEqual(['leased@one.example']);
  expect(isSuspect(claimed[0]?.lease ?? 0)).toBe(true);
  await pool.end();
});

test('four concurrent claimers neither share a row nor crash the database', async () => {
  await using database = await createTestDatabase();
  const pool = storePool(database.url);
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const all = Array.from({ length: 2_000 }, (_, n) => `u${n}@d${n % 20}.example`);
  await enqueue(
    pool,
    all.map((to) => ({ workspaceId, nowMs, recipients: [to] })),
  );
  const seen: string[] = [];
  const claimer = async () => {
    for (let empty = 0; empty < 3; ) {
      const rows = await claimAll(pool, { nowMs, max: 3 });
      empty = rows.length === 0 ? empty + 1 : 0;
      seen.push(...rows.map((row) => row.recipient));
    }
  };
  await Promise.all([claimer(), claimer(), claimer(), claimer()]);
  expect(seen).toHaveLength(2_000);
  expect(new Set(seen).size).toBe(2_000);
  await pool.end();
});

test('deliveries are found by their key, not by their recipient, before there are statistics', async () => {
  await using database = await createTestDatabase();
  const pool = storePool(database.url, 1);
  const { rows } = await pool.query<Record<string, string>>(
    `explain update deliveries d set lease = null
       from (select unnest($1::uuid[]) as w, unnest($2::mode[]) as m, unnest($3::uuid[]) as id,
                    unnest($4::smallint[]) as o) r
      where d.workspace_id = r.w and d.mode = r.m and d.message_id = r.id and d.ordinal = r.o`,
    [[], [], [], []],
  );
  const indexes = rows.flatMap(
    (row) => /Index Scan using (\S+)/.exec(`${row['QUERY PLAN']}`)?.[1] ?? [],
  );
  expect(indexes.length).toBeGreaterThan(0);
  expect(indexes.filter((name) => !name.endsWith('_pkey'))).toEqual([]);
  await pool.end();
});
