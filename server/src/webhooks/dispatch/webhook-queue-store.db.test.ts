import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import { openPool, type Pool } from '../../db/connections/pool.ts';
import { disableNonIndexPlans } from '../../db/schema/index-plans.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { ClaimableQueue } from '../../queue/due-queues.ts';
import { newLease } from '../../queue/lease.ts';
import { expireAllLeases } from '../../queue/lease-store.ts';
import type { EndpointKey } from './endpoint-key.ts';
import { claimDueWebhooks, scanEndpoints, WEBHOOK_DELIVERIES } from './webhook-queue-store.ts';

const nowMs = systemClock.now();

async function newEndpoint(pool: Pool, workspaceId: string, enabled = true): Promise<string> {
  const id = uuidv7(nowMs);
  await pool.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
                           created_at, updated_at)
     values ($1, 'live', $2, 'https://example.com/', '{*}', '', $3, 0, $4, $4)`,
    [workspaceId, id, enabled, new Date(nowMs)],
  );
  return id;
}

/** Queues deliveries of an endpoint, the first due now and each of the others a second later. */
async function queueDeliveries(
  pool: Pool,
  workspaceId: string,
  webhookId: string,
  count: number,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7(nowMs));
  await pool.query(
    `insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
                                     due_at, created_at)
     select $1, 'live', $2, id, 1, 'message.delivered', $4::timestamptz + n * interval '1 second', $4
       from unnest($3::uuid[]) with ordinality as r(id, n)`,
    [workspaceId, webhookId, ids, new Date(nowMs - 1_000)],
  );
  return ids;
}

test('a restart ends leases, and leaves rows alone that wait for a retry', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  const webhookId = await newEndpoint(pool, workspaceId);
  const [leased = ''] = await queueDeliveries(pool, workspaceId, webhookId, 2);
  const queue = { workspaceId, mode: 'live' as const, webhookId, max: 5 };
  expect(await claimDueWebhooks(pool, [queue], newLease(1, nowMs, 60_000))).toHaveLength(1);
  expect(await claimDueWebhooks(pool, [queue], newLease(1, nowMs, 60_000))).toHaveLength(0);
  expect(await expireAllLeases(pool, WEBHOOK_DELIVERIES, nowMs)).toBe(1);
  const claimed = await claimDueWebhooks(pool, [queue], newLease(1, nowMs, 60_000));
  expect(claimed.map((row) => row.event_id)).toEqual([leased]);
});

test('the scan returns when each endpoint has a row due, and never for a disabled one', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  const endpoints = [];
  for (const enabled of [true, false, true]) {
    const webhookId = await newEndpoint(pool, workspaceId, enabled);
    await queueDeliveries(pool, workspaceId, webhookId, 2);
    const dueAtMs = enabled ? nowMs : Number.POSITIVE_INFINITY;
    endpoints.push({ workspaceId, mode: 'live', webhookId, dueAtMs });
  }
  const first = await scanEndpoints(pool, undefined, 2);
  const rest = await scanEndpoints(pool, first.at(-1), 2);
  const byId = (a: { webhookId: string }, b: { webhookId: string }) =>
    a.webhookId < b.webhookId ? -1 : 1;
  expect([...first, ...rest]).toEqual(endpoints.toSorted(byId));
});

/**
 * Leases that end at once make the claimers meet rows that another has just changed, as in
 * queue/lease-store.ts. A single statement needs thousands of claims to crash the database, so this
 * short race is a smoke test; `npm run check -- boundaries` rejects such statements.
 */
test('eight claimers that race for the same rows do not crash the database', async () => {
  await using database = await createTestDatabase();
  const pool = openPool({ hosts: [{ connectionString: database.url }], log: silentLog, max: 8 });
  disableNonIndexPlans(pool);
  const workspaceId = await newWorkspace(pool, nowMs);
  const queues: ClaimableQueue<EndpointKey>[] = [];
  for (let n = 0; n < 3; n++) {
    const webhookId = await newEndpoint(pool, workspaceId);
    await queueDeliveries(pool, workspaceId, webhookId, 30);
    queues.push({ workspaceId, mode: 'live', webhookId, max: 16 });
  }
  const claimer = async () => {
    let claimed = 0;
    for (let claim = 0; claim < 60; claim++) {
      const terms = { ...newLease(1, nowMs + 60_000, 0), leaseEndsAtMs: nowMs };
      claimed += (await claimDueWebhooks(pool, queues, terms)).length;
    }
    return claimed;
  };
  const claimed = await Promise.all(Array.from({ length: 8 }, claimer));
  expect(Math.min(...claimed)).toBeGreaterThan(0);
  const { rows } = await pool.query(`select count(*) as n from webhook_deliveries`);
  expect(rows).toEqual([{ n: 90 }]);
  await pool.end();
});
