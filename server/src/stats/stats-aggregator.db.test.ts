import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database.ts';
import { until } from '../../test/harness/delivery-engine.ts';
import { inTransaction } from '../db/pool.ts';
import { oldestUnprocessed } from '../events/event-consumer-store.ts';
import { appendEvents } from '../events/events-store.ts';
import { systemClock } from '../lib/clock.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/manual-clock.ts';
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
