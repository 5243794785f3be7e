import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { newWorkspace } from '../../test/harness/database/enqueue-messages.ts';
import { until } from '../../test/harness/delivery/delivery-engine.ts';
import type { Pool } from '../db/connections/pool.ts';
import { readNextBatch, takeChunk, takeOverChunk } from '../events/event-chunk-store.ts';
import {
  areEventsConsumed,
  oldestUnprocessed,
  readConsumerPosition,
  skipConsumersTo,
} from '../events/event-consumer-store.ts';
import { appendEvents, EVENT_LOG_START, type NewEvent } from '../events/events-store.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import { newLease } from '../queue/lease.ts';
import { readContentBytes } from '../quotas/quota-store.ts';
import { CountBucket } from '../stats/count-buckets.ts';
import { type AppendedRow, appendedRow } from '../stats/counts-row.ts';
import { StatsAggregator } from '../stats/stats-aggregator.ts';
import { readUncounted, writeCountsOfBatch, writeCountsOfChunks } from '../stats/stats-store.ts';
import { WebhookThrottle } from '../webhooks/dispatch/webhook-throttle.ts';
import {
  type FanOutCapacity,
  fanOut,
  fanOutChunk,
  fanOutDueChunk,
  fanOutNextChunk,
  NO_CAPACITY,
  skipToEnd,
} from '../webhooks/fan-out/fan-out-store.ts';
import { WebhookFanOut } from '../webhooks/fan-out/webhook-fan-out.ts';
import { replayEvents } from '../webhooks/history/webhook-history-store.ts';
import { consumeEvents } from './consume-events.ts';

/** Consumers that share the event log: every event is processed once, and readers know what is left. */

const nowMs = systemClock.now();
const BYTES = { bytesMax: 2 ** 24 };

const capacityOf = (deliveries: number): FanOutCapacity => ({
  ...NO_CAPACITY,
  total: deliveries,
  defaultPerEndpoint: deliveries,
  defaultPerWorkspace: deliveries,
});

const lease = (holder: number) => newLease(holder, nowMs, 60_000);

async function subscribe(pool: Pool, workspaceId: string, events: string): Promise<string> {
  const id = uuidv7(nowMs);
  await pool.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
                           created_at, updated_at)
     values ($1, 'live', $2, 'https://example.com/', $3, '', true, 0, $4, $4)`,
    [workspaceId, id, events, new Date(nowMs)],
  );
  return id;
}

/** Appends events in several transactions, and waits until consumers see them. */
async function append(pool: Pool, workspaceIds: readonly string[], each: number): Promise<void> {
  for (const workspaceId of workspaceIds) {
    const shared = { workspaceId, mode: 'live' as const, atMs: nowMs };
    const data = { content_bytes: 10, recipients: [{ email: 'a@gmail.com' }], tags: [] };
    const events = Array.from({ length: each / 2 }, (): NewEvent[] => [
      { ...shared, type: 'message.accepted', data },
      { ...shared, type: 'template.published', data: {} },
    ]);
    await appendEvents(pool, events.flat());
  }
  await until(async () => {
    const { rows } = await pool.query('select from events where tx >= event_log_horizon() limit 1');
    return rows.length === 0;
  });
}

/** How often each pair of an event and an endpoint that subscribes to it is delivered or waits. */
async function fannedOut(pool: Pool): Promise<{ times: number; pairs: number }[]> {
  const { rows } = await pool.query(
    `select times::int, count(*)::int as pairs from (
       select (select count(*) from webhook_deliveries d
                where d.webhook_id = w.id and d.event_id = e.id)
            + (select count(*) from webhook_backlogs b where b.webhook_id = w.id
                  and (b.first_tx, b.first_id) <= (e.tx, e.id)
                  and (e.tx, e.id) <= (b.last_tx, b.last_id)) as times
         from events e join webhooks w on w.workspace_id = e.workspace_id
        where w.events = '{*}' or e.type like 'message.%') pairs
      group by times order by times`,
  );
  return rows;
}

/** Waiting events are counted too, so that a backlog cannot hide one that it counts twice. */
async function waiting(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select (select count(*) from webhook_deliveries)::int
          + coalesce((select sum(events) from webhook_backlogs), 0)::int as n`,
  );
  return rows[0]?.n ?? 0;
}

const makeDue = (pool: Pool) => pool.query('update event_chunks set due_at = now()');

const makeLate = (pool: Pool) =>
  pool.query(`update event_chunks set due_at = now() + interval '1 hour'`);

function rowOf(workspaceId: string, { messages }: { messages: number }): AppendedRow {
  const counts = new CountBucket(workspaceId, 'live', nowMs);
  counts.sumsOf('all', '').add('messages', messages);
  return appendedRow(counts);
}

async function countedMessages(pool: Pool): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select sum(n)::int as n from statistics_by_day where counter = 'messages' having sum(n) > 0`,
  );
  return rows;
}

async function chunksLeft(pool: Pool): Promise<number> {
  return (await pool.query('select from event_chunks')).rowCount ?? 0;
}

test('several nodes fan out a backlog, some killed halfway, and each event reaches each endpoint once', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaces = [await newWorkspace(pool, nowMs), await newWorkspace(pool, nowMs)];
  for (const id of workspaces) {
    await subscribe(pool, id, '{*}');
    await subscribe(pool, id, '{message.*}');
  }
  await append(pool, [...workspaces, ...workspaces], 100);

  const limits = { eventsMax: 30, ...BYTES };
  await takeChunk(pool, 'webhooks', limits);
  const slow = await takeChunk(pool, 'webhooks', limits);
  await Promise.all(
    [1, 2, 3, 4].map(async (node) => {
      for (;;) {
        const capacity = node % 2 ? NO_CAPACITY : capacityOf(5);
        const direct = await fanOut(pool, 7, capacity, lease(node));
        const chunk = await fanOutNextChunk(pool, 11, capacity, lease(node));
        if (direct.seen === 0 && !chunk) return;
      }
    }),
  );
  expect(await chunksLeft(pool)).toBe(2);
  await makeDue(pool);
  expect((await fanOut(pool, 7, NO_CAPACITY, lease(5))).chunkDue).toBe(true);
  while (await fanOutDueChunk(pool, capacityOf(3), lease(5)));
  expect(slow && (await fanOutChunk(pool, slow, capacityOf(9), lease(6))).seen).toBe(0);

  expect(await fannedOut(pool)).toEqual([{ times: 1, pairs: 600 }]);
  expect(await waiting(pool)).toBe(600);
  expect(await chunksLeft(pool)).toBe(0);
});

test('a node that has fallen behind divides the log, and takes over what another left', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  await subscribe(pool, workspaceId, '{*}');
  await append(pool, [workspaceId], 4_500);
  await takeChunk(pool, 'webhooks', { eventsMax: 400, ...BYTES });
  await makeDue(pool);
  const admitted: string[] = [];
  // The capacities of chunks in progress, and how many of them were not zero.
  const offered: number[] = [];
  const concurrent: number[] = [];
  const node = new WebhookFanOut({
    store: {
      anyEnabled: async () => true,
      skipToEnd: async () => {},
      fanOut: (...call) => fanOut(pool, ...call),
      fanOutNextChunk: async (eventsMax, capacity, terms) => {
        offered.push(capacity.total);
        concurrent.push(offered.filter((total) => total > 0).length);
        const result = await fanOutNextChunk(pool, eventsMax, capacity, terms);
        offered.splice(offered.indexOf(capacity.total), 1);
        return result;
      },
      fanOutDueChunk: (...call) => fanOutDueChunk(pool, ...call),
    },
    clock: systemClock,
    log: silentLog,
    throttle: new WebhookThrottle({ clock: systemClock, mailCommits: () => 0 }),
    capacity: () => capacityOf(20),
    admit: (_made, leased) => admitted.push(...leased.map(({ event_id }) => event_id)),
    holderId: () => 1,
    leaseMs: 60_000,
    pollMs: 1_000,
  });
  node.start();
  await until(async () => (await waiting(pool)) >= 4_500 && (await chunksLeft(pool)) === 0);
  await node.stop();
  expect(await fannedOut(pool)).toEqual([{ times: 1, pairs: 4_500 }]);
  expect(await waiting(pool)).toBe(4_500);
  const { rows } = await pool.query('select event_id from webhook_deliveries order by event_id');
  expect(admitted.toSorted()).toEqual(rows.map(({ event_id }) => event_id));
  expect(Math.max(...concurrent)).toBe(1);
});

test('events of a chunk are not processed until it is finished', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  const other = await newWorkspace(pool, nowMs);
  const webhookId = await subscribe(pool, workspaceId, '{*}');
  await append(pool, [workspaceId, other], 40);
  const limits = { eventsMax: 30, ...BYTES };
  for (const consumer of ['webhooks', 'statistics'] as const) {
    await takeChunk(pool, consumer, limits);
    const chunk = await takeChunk(pool, consumer, limits);
    expect(chunk && { events: chunk.events, more: chunk.more }).toEqual({ events: 30, more: true });
  }
  await makeLate(pool);
  const { rows } = await pool.query<{ last: number }>('select max(tx) as last from events');
  const after = (rows[0]?.last ?? 0) + 1;
  const bytes = () => readContentBytes(pool, workspaceId, nowMs - 86_400_000 * 2);
  const replay = async () => {
    const range = { fromMs: nowMs - 1_000, toMs: nowMs + 1_000, oldestMs: 0 };
    const scope = { workspaceId, mode: 'live' as const };
    return (await replayEvents(pool, scope, webhookId, range, EVENT_LOG_START, 99, nowMs)).replayed;
  };
  const left = async () => (await oldestUnprocessed(pool)).map(({ createdAtMs }) => createdAtMs);

  expect(await readConsumerPosition(pool, 'statistics')).toEqual(EVENT_LOG_START);
  expect(await left()).toEqual([nowMs, nowMs]);
  expect(await areEventsConsumed(pool, workspaceId)).toBe(false);
  expect(await skipConsumersTo(pool, after, nowMs)).toBe(false);
  expect(await bytes()).toBe(200);
  expect(await replay()).toBe(0);

  // Everything but the chunks.
  await consumeEvents(pool, systemClock);
  expect(await readConsumerPosition(pool, 'statistics')).toEqual(EVENT_LOG_START);
  expect(await areEventsConsumed(pool, workspaceId)).toBe(false);
  expect(await skipConsumersTo(pool, after, nowMs)).toBe(false);
  expect(await bytes()).toBe(200);
  expect(await replay()).toBe(0);

  await makeDue(pool);
  await consumeEvents(pool, systemClock);
  expect(await left()).toEqual([null, null]);
  expect(await areEventsConsumed(pool, workspaceId)).toBe(true);
  expect(await skipConsumersTo(pool, after, nowMs)).toBe(true);
  expect((await readConsumerPosition(pool, 'statistics')).tx).toBe(after);
  expect(await bytes()).toBe(200);
  expect(await fannedOut(pool)).toEqual([{ times: 1, pairs: 40 }]);
});

test('only the last process that took a chunk over writes its counts', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  await append(pool, [workspaceId], 20);
  const first = await takeChunk(pool, 'statistics', { eventsMax: 20, ...BYTES });
  await makeLate(pool);
  expect(await takeOverChunk(pool, 'statistics')).toBeUndefined();
  await makeDue(pool);
  const second = await takeOverChunk(pool, 'statistics');
  if (!first || !second) throw new Error('no chunk');
  expect(second).toMatchObject({ from: first.from, to: first.to, events: 20, attempt: 2 });
  const rows = [rowOf(workspaceId, { messages: 10 })];
  expect(await readUncounted(pool, first, new Map())).toHaveLength(10);
  expect(await writeCountsOfChunks(pool, [first], rows)).toBe(false);
  expect(await writeCountsOfChunks(pool, [second], rows)).toBe(true);
  expect(await writeCountsOfChunks(pool, [second], rows)).toBe(false);
  expect(await countedMessages(pool)).toEqual([{ n: 10 }]);
});

test('counts of several chunks are written together, or not at all', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  await append(pool, [workspaceId], 60);
  const take = async () => {
    const chunk = await takeChunk(pool, 'statistics', { eventsMax: 20, ...BYTES });
    if (!chunk) throw new Error('no chunk');
    return chunk;
  };
  const chunks = [await take(), await take(), await take()] as const;
  await makeLate(pool);
  await pool.query(`update event_chunks set due_at = now() where after_tx = 0`);
  const over = await takeOverChunk(pool, 'statistics');
  if (!over) throw new Error('no chunk');
  const rows = [rowOf(workspaceId, { messages: 20 })];
  expect(await writeCountsOfChunks(pool, [chunks[0], chunks[1]], rows)).toBe(false);
  expect(await chunksLeft(pool)).toBe(3);
  expect(await countedMessages(pool)).toEqual([]);
  expect(await writeCountsOfChunks(pool, [over, chunks[1]], rows)).toBe(true);
  expect(await writeCountsOfChunks(pool, [chunks[1], chunks[2]], rows)).toBe(false);
  expect(await chunksLeft(pool)).toBe(1);
  expect(await countedMessages(pool)).toEqual([{ n: 20 }]);
});

test('of several processes that counted the same batch, one writes', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  await append(pool, [workspaceId], 20);
  const batch = await readNextBatch(pool, 'statistics', { eventsMax: 100, ...BYTES });
  expect(batch).toMatchObject({ events: 20, more: false, isChunkDue: false });
  const rows = [rowOf(workspaceId, { messages: 10 })];
  const written = await Promise.all([1, 2, 3].map(() => writeCountsOfBatch(pool, batch, rows)));
  expect(written.toSorted()).toEqual([false, false, true]);
  expect(await countedMessages(pool)).toEqual([{ n: 10 }]);
});

test('a batch of large events is shortened', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  await append(pool, [workspaceId], 40);
  const sizes: number[] = [];
  for (;;) {
    const chunk = await takeChunk(pool, 'statistics', { eventsMax: 30, bytesMax: 300 });
    if (!chunk) break;
    sizes.push(chunk.events);
  }
  expect(Math.max(...sizes)).toBeLessThan(30);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40);
  const whole = await takeChunk(pool, 'webhooks', { eventsMax: 40, bytesMax: 1 });
  expect(whole?.events).toBe(1);
});

test('without endpoints, chunks of events for them are dropped', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, nowMs);
  await subscribe(pool, workspaceId, '{*}');
  await append(pool, [workspaceId], 20);
  await takeChunk(pool, 'webhooks', { eventsMax: 10, ...BYTES });
  await skipToEnd(pool);
  expect(await chunksLeft(pool)).toBe(1);
  await pool.query('update webhooks set enabled = false');
  await takeChunk(pool, 'statistics', { eventsMax: 10, ...BYTES });
  await skipToEnd(pool);
  const { rows } = await pool.query('select consumer from event_chunks');
  expect(rows).toEqual([{ consumer: 'statistics' }]);
});

test('nodes that count at the same time count each event once', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaces: string[] = [];
  for (let n = 0; n < 12; n++) workspaces.push(await newWorkspace(pool, nowMs));
  await append(pool, [...workspaces, ...workspaces.toReversed()], 20);
  const nodes = Array.from(
    { length: 4 },
    () => new StatsAggregator({ pool, clock: systemClock, log: silentLog }),
  );
  await Promise.all(
    nodes.map(async (node) => {
      while (await node.aggregateNext(40));
    }),
  );
  const { rows } = await pool.query(
    `select sum(n)::bigint as n from statistics_by_day
      where dimension = 'all' and counter = 'messages' group by workspace_id`,
  );
  expect(rows.map(({ n }) => n)).toEqual(workspaces.map(() => 20));
  expect(await chunksLeft(pool)).toBe(0);
});
