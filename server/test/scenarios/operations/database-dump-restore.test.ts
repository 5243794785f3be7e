import { expect, test } from 'vitest';
import type { Pool } from '../../../src/db/connections/pool.ts';
import { migrate } from '../../../src/db/schema/migrate.ts';
import { readNextBatch } from '../../../src/events/event-chunk-store.ts';
import { appendEvents, EVENT_LOG_START } from '../../../src/events/events-store.ts';
import { readFeed } from '../../../src/events/feed-store.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { StatsAggregator } from '../../../src/stats/stats-aggregator.ts';
import { fanOut, NO_CAPACITY } from '../../../src/webhooks/fan-out/fan-out-store.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';

/**
 * A database that was dumped and restored into another PostgreSQL, with lower transaction ids, continues
 * to work. The transaction ids in the database are raised to those of a PostgreSQL that has run for years.
 */

const clock = systemClock;
const YEARS = 5_000_000_000;

async function comeFromElsewhere(pool: Pool): Promise<void> {
  await pool.query(`update events set tx = tx + ${YEARS}`);
  await pool.query(`update event_consumers set tx = tx + ${YEARS}`);
  await pool.query(`update webhooks set since_tx = since_tx + ${YEARS}`);
}

async function happens(pool: Pool, workspaceId: string, key: string): Promise<void> {
  const data = { template: { key, version: 1 } };
  const event = { workspaceId, mode: 'live', type: 'template.published' } as const;
  await appendEvents(pool, [{ ...event, atMs: clock.now(), data }]);
}

test('readers, webhooks and statistics of a restored database continue where they were', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, clock.now());
  const scope = { workspaceId, mode: 'live' } as const;
  const followed = new StatsAggregator({ pool, clock, log: silentLog });
  const toWebhooks = async () => {
    const nowMs = clock.now();
    const terms = { nowMs, lease: 1, leaseEndsAtMs: nowMs + 1_000 };
    return (await fanOut(pool, 100, NO_CAPACITY, terms)).seen;
  };
  const uncounted = async () =>
    (await readNextBatch(pool, 'statistics', { eventsMax: 10, bytesMax: 2 ** 20 })).events;
  await happens(pool, workspaceId, 'before');
  await toWebhooks();
  await followed.aggregateNext();
  await comeFromElsewhere(pool);

  expect(await migrate(pool, silentLog)).toBe(0);
  const before = await readFeed(pool, scope, EVENT_LOG_START, 10);
  expect(before.events.map(({ data }) => data.template)).toMatchObject([{ key: 'before' }]);
  await happens(pool, workspaceId, 'after');
  const after = await readFeed(pool, scope, before.next, 10);
  expect(after.events.map(({ data }) => data.template)).toMatchObject([{ key: 'after' }]);
  expect(await toWebhooks()).toBe(1);
  expect(await uncounted()).toBe(1);
  await followed.aggregateNext();
  expect(await uncounted()).toBe(0);

  // Restarted, and restored once more.
  await migrate(pool, silentLog);
  await happens(pool, workspaceId, 'again');
  await comeFromElsewhere(pool);
  await migrate(pool, silentLog);
  await happens(pool, workspaceId, 'at last');
  const all = await readFeed(pool, scope, EVENT_LOG_START, 10);
  expect(all.events.map(({ data }) => data.template)).toMatchObject([
    { key: 'before' },
    { key: 'after' },
    { key: 'again' },
    { key: 'at last' },
  ]);
});

test('a database that was not moved keeps its transaction ids, whatever is running', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, clock.now());
  const open = await pool.connect();
  await open.query('begin; select pg_current_xact_id()');
  await happens(pool, workspaceId, 'later than one that is still running');
  await migrate(pool, silentLog);
  await open.query('commit');
  open.release();
  const { rows } = await pool.query(
    'select event_log_horizon() - pg_snapshot_xmin(pg_current_snapshot())::text::bigint as ahead',
  );
  expect(rows).toEqual([{ ahead: 0 }]);
});
