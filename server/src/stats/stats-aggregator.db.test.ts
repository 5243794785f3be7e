import { describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { until } from '../../test/harness/delivery/delivery-engine.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { oldestUnprocessed } from '../events/event-consumer-store.ts';
import { appendEvents } from '../events/events-store.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { StatsAggregator } from './stats-aggregator.ts';

/** Tenants choose tags, so their number is limited: what a workspace used before decides. */

test('each workspace has 500 tags of its own, in each mode; more are counted together', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const [full, other, ...many] = Array.from({ length: 250 }, () => uuidv7(Date.now()));
  await pool.query(
    `insert into statistics_day (workspace_id, mode, dimension, at, value, counter, n)
     select $1, 'live', 'tag', date_trunc('day', now(), 'UTC'), 'tag ' || n, 'failed', 1
       from generate_series(1, 500) n`,
    [full],
  );
  const failed = (workspaceId: string | undefined, mode: 'live' | 'test', tag: string) => ({
    workspaceId: workspaceId as string,
    mode,
    type: 'message.failed' as const,
    atMs: Date.now(),
    data: { tags: [tag] },
  });
  const count = async (...events: ReturnType<typeof failed>[]) => {
    await inTransaction(pool, (client) => appendEvents(client, events));
    const node = new StatsAggregator({ pool, clock: systemClock, log: silentLog });
    while (await node.aggregateNext());
  };
  await count(
    failed(full, 'live', 'tag 7'),
    failed(full, 'live', 'new'),
    failed(full, 'test', 'new'),
    failed(other, 'live', 'new'),
    ...many.map((id) => failed(id, 'live', 'new')),
  );
  const tagsOf = async (workspaceId: string | undefined) => {
    const { rows } = await pool.query(
      `select mode, value, n from statistics_by_minute
        where workspace_id = $1 and dimension = 'tag' order by 1, 2`,
      [workspaceId],
    );
    return rows.map(({ mode, value, n }) => [mode, value, n]);
  };
  expect(await tagsOf(full)).toEqual([
    ['live', '(other)', 1],
    ['live', 'tag 7', 1],
    ['test', 'new', 1],
  ]);
  expect(await tagsOf(other)).toEqual([['live', 'new', 1]]);
  expect(await tagsOf(many.at(-1))).toEqual([['live', 'new', 1]]);
});

test('the values of a workspace are only read again when it uses another one', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = new ManualClock(Date.now());
  const node = new StatsAggregator({ pool, clock, log: silentLog });
  // Its counts are not added up in one of the first batches, which would also read them.
  const workspaceId = uuidv7(Date.now()).replace(/..$/, 'ff');
  const append = async (tag: string) => {
    const event = { workspaceId, mode: 'live', type: 'message.failed', atMs: Date.now() } as const;
    await appendEvents(pool, [{ ...event, data: { tags: [tag] } }]);
  };
  const count = () =>
    until(async () => {
      await node.aggregateNext();
      return (await oldestUnprocessed(pool)).every(({ createdAtMs }) => createdAtMs === null);
    });
  await append('often');
  await count();
  await pool.query(
    `insert into statistics_day (workspace_id, mode, dimension, at, value, counter, n)
     select $1, 'live', 'tag', date_trunc('day', now(), 'UTC'), 'tag ' || n, 'failed', 1
       from generate_series(1, 500) n`,
    [workspaceId],
  );
  clock.advance(3_600_000);
  await append('often');
  await inTransaction(pool, async (client) => {
    // Reading its values would wait for this transaction.
    await client.query('lock table statistics_days in access exclusive mode');
    await count();
  });
  await append('new');
  await count();
  const { rows } = await pool.query(
    `select value, sum(n)::int as n from statistics_by_minute
      where workspace_id = $1 and dimension = 'tag' group by value order by value`,
    [workspaceId],
  );
  expect(rows).toEqual([
    { value: '(other)', n: 1 },
    { value: 'often', n: 2 },
  ]);
});

/** Events of many workspaces, of which a row of counts for each would hold only one. */
describe('counts of many workspaces', () => {
  // None of them is among the first whose counts are added up.
  const workspaces = Array.from({ length: 2_500 }, () => uuidv7(Date.now()).replace(/..$/, 'ff'));
  const append = async (pool: Pool) => {
    const shared = { mode: 'live', type: 'message.failed', data: { tags: [] } } as const;
    const atMs = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    await appendEvents(
      pool,
      workspaces.map((workspaceId) => ({ ...shared, workspaceId, atMs })),
    );
    await until(async () => {
      const { rowCount } = await pool.query(
        'select from events where tx >= event_log_horizon() limit 1',
      );
      return rowCount === 0;
    });
  };
  const start = (pool: Pool) => {
    const clock = new ManualClock(Date.now());
    const node = new StatsAggregator({ pool, clock, log: silentLog });
    node.start();
    return { node, clock };
  };
  const readOf = async (pool: Pool): Promise<number> => {
    const { rows } = await pool.query(`select coalesce(sum(e.n), 0)::int as n
      from event_consumers c cross join lateral (
        select count(*) as n from events e where (e.tx, e.id) <= (c.tx, c.id)) e
       where c.name = 'statistics'`);
    return rows[0]?.n;
  };
  const rowsOf = async (pool: Pool) => {
    const { rows } = await pool.query(`select count(*)::int as rows,
      coalesce(sum(failed), 0)::int as failed from statistics_appended`);
    return rows[0];
  };
  /** Not more than the time between two runs, because the counts are held for ten seconds. */
  const twice = async (pool: Pool) => {
    const { node, clock } = start(pool);
    await until(async () => (await readOf(pool)) === 2_500);
    await append(pool);
    node.wake();
    clock.advance(1_000);
    await until(async () => (await readOf(pool)) === 5_000);
    expect(await rowsOf(pool)).toEqual({ rows: 0, failed: 0 });
    return { node, clock };
  };

  test.each([
    ['for ten seconds', 9_000],
    ['until the clock is set back', -3_600_000],
  ])('are held %s and written together', async (_, ms) => {
    await using database = await createTestDatabase();
    const { pool } = database;
    await append(pool);
    const { node, clock } = await twice(pool);
    await append(pool);
    clock.advance(ms);
    node.wake();
    if (ms < 0) clock.advance(1_000);
    await until(async () => (await rowsOf(pool)).rows > 0);
    expect(await rowsOf(pool)).toEqual({ rows: 2_500, failed: 7_500 });
    await node.stop();
  });

  test('are written when the events end, when the node stops and when a workspace moves', async () => {
    for (const end of ['events', 'stop', 'move'] as const) {
      await using database = await createTestDatabase();
      const { pool } = database;
      await append(pool);
      const { node, clock } = await twice(pool);
      if (end === 'stop') await node.stop();
      if (end === 'move') {
        await append(pool);
        node.hurry();
        clock.advance(1_000);
      }
      const failed = end === 'move' ? 7_500 : 5_000;
      await until(async () => {
        if (end === 'events') clock.advance(1_000);
        return (await rowsOf(pool)).failed === failed;
      });
      expect(await rowsOf(pool)).toEqual({ rows: 2_500, failed });
      await node.stop();
    }
  });

  test('that cannot be written do not prevent the stop, and are counted later', async () => {
    await using database = await createTestDatabase();
    const { pool } = database;
    await append(pool);
    const { node } = await twice(pool);
    await pool.query('alter table statistics_appended rename to away');
    await node.stop();
    await pool.query('alter table away rename to statistics_appended');
    await pool.query('update event_chunks set due_at = now()');
    const next = new StatsAggregator({ pool, clock: systemClock, log: silentLog });
    while (await next.aggregateNext());
    expect((await rowsOf(pool)).failed).toBe(5_000);
  });

  test('are counted by another node, once, if the node dies that held them', async () => {
    await using database = await createTestDatabase();
    const { pool } = database;
    await append(pool);
    const dead = await twice(pool);
    await pool.query('update event_chunks set due_at = now()');
    const node = new StatsAggregator({ pool, clock: systemClock, log: silentLog });
    while (await node.aggregateNext());
    expect((await rowsOf(pool)).failed).toBe(5_000);
    // It was only slow.
    await dead.node.stop();
    expect((await rowsOf(pool)).failed).toBe(5_000);
  });
});
