import { expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/harness/database/database.ts';
import { newWorkspace } from '../../../test/harness/database/enqueue-messages.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { ensurePartitions, PARTITIONED_TABLES } from '../../db/schema/partitions.ts';
import { appendEvents, EVENT_LOG_START } from '../../events/events-store.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { newLease } from '../../queue/lease.ts';
import type { EndpointKey } from '../dispatch/endpoint-key.ts';
import { claimDueWebhooks, failOrphans, scanEndpoints } from '../dispatch/webhook-queue-store.ts';
import { replayEvents } from '../history/webhook-history-store.ts';
import { findWebhook } from '../webhook-store.ts';
import { fanOut } from './fan-out-store.ts';
import { anyUnparkedBacklog, parkBacklogs, unparkBacklogs } from './webhook-backlog-store.ts';

const nowMs = systemClock.now();

async function subscribe(pool: Pool): Promise<EndpointKey> {
  const workspaceId = await newWorkspace(pool, nowMs);
  const webhookId = uuidv7(nowMs);
  await pool.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
                           created_at, updated_at)
     values ($1, 'live', $2, 'https://example.com/', '{template.*}', '', true, 0, $3, $3)`,
    [workspaceId, webhookId, new Date(nowMs)],
  );
  return { workspaceId, mode: 'live', webhookId };
}

async function append(pool: Pool, { workspaceId }: EndpointKey, count: number): Promise<string[]> {
  const before = await logOf(pool);
  const types = ['template.published', 'domain.verified'] as const;
  const events = Array.from({ length: count }, () =>
    types.map((type) => ({ workspaceId, mode: 'live' as const, type, atMs: nowMs, data: {} })),
  );
  await appendEvents(pool, events.flat());
  return (await logOf(pool)).filter((id) => !before.includes(id));
}

/** The events about templates, in the order of the log. */
async function logOf(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from events where type = 'template.published' order by tx, id`,
  );
  return rows.map(({ id }) => id);
}

function fanOutAll(pool: Pool, leasedMax = 0) {
  const capacity = {
    total: leasedMax,
    defaultPerEndpoint: leasedMax,
    perEndpoint: [],
    defaultPerWorkspace: leasedMax,
    perWorkspace: [],
  };
  return fanOut(pool, 1_000, capacity, newLease(1, nowMs, 60_000));
}

async function claim(pool: Pool, endpoint: EndpointKey, max: number): Promise<string[]> {
  const rows = await claimDueWebhooks(pool, [{ ...endpoint, max }], newLease(1, nowMs, 60_000));
  return rows.map(({ event_id }) => event_id);
}

async function setAside(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ events: number }>(
    'select events from webhook_backlogs order by first_tx, first_id',
  );
  return rows.map(({ events }) => events);
}

/** What the API shows of it. */
async function waiting(pool: Pool, endpoint: EndpointKey) {
  const webhook = await findWebhook(pool, endpoint, endpoint.webhookId);
  return [webhook?.waitingEvents, webhook?.oldestWaitingId];
}

test('events without capacity are claimed later, in order and each once', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const endpoint = await subscribe(pool);
  const ids = await append(pool, endpoint, 5);
  const { made, leased } = await fanOutAll(pool, 2);
  expect(made).toBe(5);
  expect(leased.map((row) => row.event_id).toSorted()).toEqual(ids.slice(0, 2).toSorted());
  ids.push(...(await append(pool, endpoint, 4)));
  await fanOutAll(pool);
  expect(await setAside(pool)).toEqual([3, 4]);
  expect(await waiting(pool, endpoint)).toEqual([7, ids[2]]);
  expect(await scanEndpoints(pool)).toEqual([{ ...endpoint, dueAtMs: nowMs }]);

  expect(await claim(pool, endpoint, 2)).toEqual(ids.slice(2, 4));
  expect(await setAside(pool)).toEqual([1, 4]);
  expect(await claim(pool, endpoint, 3)).toEqual(ids.slice(4, 7));
  expect(await claim(pool, endpoint, 9)).toEqual(ids.slice(7));
  expect(await claim(pool, endpoint, 9)).toEqual([]);
  expect(await setAside(pool)).toEqual([]);
  expect(await waiting(pool, endpoint)).toEqual([0, null]);
  const { rows } = await pool.query('select from webhook_deliveries where lease is not null');
  expect(rows).toHaveLength(9);
});

test('claimers that race for a backlog get each event once', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const endpoint = await subscribe(pool);
  const expected: string[] = [];
  for (let batch = 0; batch < 5; batch++) {
    expected.push(...(await append(pool, endpoint, 20)));
    await fanOutAll(pool);
  }
  const claimed: string[] = [];
  const claimAll = async () => {
    while ((await setAside(pool)).length > 0) claimed.push(...(await claim(pool, endpoint, 7)));
  };
  await Promise.all(Array.from({ length: 4 }, claimAll));
  expect(claimed.toSorted()).toEqual(expected.toSorted());
});

test('a backlog waits while its endpoint is disabled, and is deleted with it', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const endpoint = await subscribe(pool);
  await append(pool, endpoint, 3);
  await fanOutAll(pool);
  await pool.query('update webhooks set enabled = false');
  expect(await claim(pool, endpoint, 9)).toEqual([]);
  expect(await failOrphans(pool, nowMs, 10)).toBe(0);
  expect(await setAside(pool)).toEqual([3]);
  await pool.query('update webhooks set enabled = true');
  expect(await claim(pool, endpoint, 1)).toHaveLength(1);
  await pool.query('delete from webhooks');
  expect(await failOrphans(pool, nowMs, 10)).toBe(1);
  expect(await setAside(pool)).toEqual([]);
});

test('a parked backlog is not claimed until it is put back', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const endpoint = await subscribe(pool);
  const { workspaceId } = endpoint;
  const ids = await append(pool, endpoint, 2);
  await fanOutAll(pool);
  expect(await anyUnparkedBacklog(pool, workspaceId)).toBe(true);
  await parkBacklogs(pool, workspaceId);
  await parkBacklogs(pool, workspaceId);
  expect(await anyUnparkedBacklog(pool, workspaceId)).toBe(false);
  expect(await claim(pool, endpoint, 9)).toEqual([]);
  expect((await scanEndpoints(pool))[0]?.dueAtMs).toBeGreaterThan(Date.UTC(2900, 0));
  await unparkBacklogs(pool, workspaceId);
  expect(await scanEndpoints(pool)).toEqual([{ ...endpoint, dueAtMs: nowMs }]);
  expect(await claim(pool, endpoint, 9)).toEqual(ids);
});

test('events whose deliveries are past their retention period are left out', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const endpoint = await subscribe(pool);
  // A partition for events of then, and none for deliveries.
  const oldMs = nowMs - 40 * 86_400_000;
  const ofEvents = PARTITIONED_TABLES.filter(({ table }) => table === 'events');
  await ensurePartitions(pool, oldMs, ofEvents);
  await pool.query(
    `insert into events (workspace_id, mode, tx, id, type, created_at, data)
     values ($1, 'live', 1, $2, 'template.published', $3, '{}')`,
    [endpoint.workspaceId, uuidv7(oldMs), new Date(oldMs)],
  );
  const ids = await append(pool, endpoint, 2);
  expect(await fanOutAll(pool)).toMatchObject({ made: 3 });
  expect(await claim(pool, endpoint, 9)).toEqual(ids);
  expect(await setAside(pool)).toEqual([]);
});

/** The fan-out of all workspaces would fail on each delivery that exists already. */
test('a replay leaves events alone that wait for their first attempt', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const endpoint = await subscribe(pool);
  const replay = async () => {
    const range = { fromMs: nowMs - 60_000, toMs: nowMs + 60_000, oldestMs: nowMs - 60_000 };
    const { workspaceId, mode, webhookId } = endpoint;
    const scope = { workspaceId, mode };
    const step = await replayEvents(pool, scope, webhookId, range, EVENT_LOG_START, 100, nowMs);
    return step.replayed;
  };
  const ids = await append(pool, endpoint, 3);
  expect(await replay()).toBe(0);
  expect(await fanOutAll(pool)).toMatchObject({ seen: 6, made: 3 });
  expect(await replay()).toBe(0);
  expect(await claim(pool, endpoint, 9)).toEqual(ids);
  await pool.query(
    `update webhook_deliveries set status = 'succeeded', due_at = null, lease = null`,
  );
  expect(await replay()).toBe(3);
  // Events from before the endpoint never reach it otherwise.
  await append(pool, endpoint, 2);
  await pool.query('update webhooks set since_tx = event_log_tx()');
  expect(await replay()).toBe(2);
  expect(await fanOutAll(pool)).toMatchObject({ seen: 4, made: 0 });
});
