import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { newWorkspace } from '../../test/harness/database/enqueue-messages.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import { NO_POLICY } from '../quotas/brake.ts';
import { saveBrakePolicy } from '../quotas/brake-store.ts';
import { readBrakeCounts } from './brake-rates-store.ts';

/** Which workspaces the brake judges, and by what, with counts that are added up and counts that are not. */

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 2, 3, 12);
const WINDOW = {
  fromMs: NOW_MS - 24 * HOUR_MS,
  recipientsMin: 100,
  bouncedMin: 5,
  complainedMin: 1,
};

type Counts = Record<string, number>;

async function countHour(db: Queryable, workspaceId: string, counts: Counts, atMs = NOW_MS) {
  await db.query(
    `insert into statistics_hours (workspace_id, mode, at, totals, ${Object.keys(counts).join(', ')})
     values ($1, 'live', $2, '{}', ${Object.values(counts).join(', ')})`,
    [workspaceId, sqlTime(atMs)],
  );
}

/** As nodes of the previous release do. */
async function countHourByCounter(db: Queryable, workspaceId: string, counts: Counts) {
  for (const [counter, n] of Object.entries(counts)) {
    await db.query(
      `insert into statistics_hour (workspace_id, mode, dimension, at, value, counter, n)
       values ($1, 'live', 'all', $2, '', $3, $4)`,
      [workspaceId, sqlTime(NOW_MS), counter, n],
    );
  }
}

async function append(
  db: Queryable,
  workspaceId: string,
  delivered: number,
  bounced: number | null,
) {
  await db.query(
    `insert into statistics_appended (workspace_id, mode, at, delivered, bounced, counts)
     values ($1, 'live', $2, $3, $4, '{}')`,
    [workspaceId, sqlTime(NOW_MS), delivered, bounced],
  );
}

test('workspaces with enough bounces or complaints are judged by all their mail', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const add = () => newWorkspace(pool, NOW_MS);
  const [good, bouncing, complained, divided, small, before] = [
    await add(),
    await add(),
    await add(),
    await add(),
    await add(),
    await add(),
  ];
  await countHour(pool, good, { delivered: 1_000, bounced: 4 });
  await countHour(pool, bouncing, { delivered: 90, bounced: 5, failed: 3, expired: 2 });
  await countHour(pool, complained, { delivered: 100, complained: 1 });
  // Half of it is not added up yet.
  await countHour(pool, divided, { delivered: 40, bounced: 2 });
  await countHourByCounter(pool, divided, { delivered: 20, bounced: 1 });
  await append(pool, divided, 40, 2);
  await append(pool, divided, 10, null);
  await countHour(pool, small, { delivered: 10, bounced: 50 });
  await countHour(pool, before, { delivered: 100, bounced: 50 }, WINDOW.fromMs - HOUR_MS);
  const judged = await readBrakeCounts(pool, WINDOW);
  const expected = [
    { workspaceId: bouncing, delivered: 90, bounced: 5, complained: 0, ended: 100 },
    { workspaceId: complained, delivered: 100, bounced: 0, complained: 1, ended: 100 },
    { workspaceId: divided, delivered: 110, bounced: 5, complained: 0, ended: 115 },
  ];
  expect(judged).toHaveLength(expected.length);
  expect(judged).toEqual(expect.arrayContaining(expected));
  // Complaints do not matter by these settings.
  const bounces = await readBrakeCounts(pool, { ...WINDOW, complainedMin: null });
  expect(bounces.map(({ workspaceId }) => workspaceId).sort()).toEqual([bouncing, divided].sort());
});

test('a workspace with its own thresholds is always judged', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const strict = await newWorkspace(pool, NOW_MS);
  await countHour(pool, strict, { delivered: 99, bounced: 1 });
  expect(await readBrakeCounts(pool, WINDOW)).toEqual([]);
  await saveBrakePolicy(pool, strict, { ...NO_POLICY, slowBounceRate: 0.01 });
  expect(await readBrakeCounts(pool, WINDOW)).toEqual([
    { workspaceId: strict, delivered: 99, bounced: 1, complained: 0, ended: 100 },
  ]);
});
