import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { until } from '../../test/harness/delivery/delivery-engine.ts';
import type { Pool } from '../db/connections/pool.ts';
import { oldestUnprocessed } from '../events/event-consumer-store.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import { uuidv7 } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import { areCountsFolded, foldCounts } from './fold-counts-store.ts';
import { StatsAggregator } from './stats-aggregator.ts';

/** Counts read the same, whether they have been added to hours and days or not. */

const HOUR_MS = 3_600_000;

const aggregator = (pool: Pool) =>
  new StatsAggregator({ pool, clock: systemClock, log: silentLog });

const newScope = () => ({ workspaceId: uuidv7(systemClock.now()), mode: 'live' as const });

async function count(pool: Pool, events: NewEvent[], node = aggregator(pool)): Promise<void> {
  await appendEvents(pool, events);
  // Other tests share the PostgreSQL: their open transactions delay the end of the feed.
  await until(async () => {
    await node.aggregateNext();
    return (await oldestUnprocessed(pool)).every(({ createdAtMs }) => createdAtMs === null);
  });
}

/** One event of each kind that has a total of its own, at this time. */
function someEvents(scope: ReturnType<typeof newScope>, atMs: number): NewEvent[] {
  const recipient = 'jane@gmail.com';
  const common = { tags: ['a "quoted" tag', '__proto__'], recipient, stream: 'digest' };
  const accepted = { ...common, recipients: [{ email: recipient }], content_bytes: 700 };
  return [
    { ...scope, type: 'message.accepted', atMs, data: accepted },
    { ...scope, type: 'message.delivered', atMs, data: common },
    {
      ...scope,
      type: 'message.bounced',
      atMs,
      data: { ...common, bounce: { reason: 'unknown_mailbox' }, report: {} },
    },
    { ...scope, type: 'message.complained', atMs, data: common },
    { ...scope, type: 'message.failed', atMs, data: common },
    { ...scope, type: 'message.expired', atMs, data: common },
    { ...scope, type: 'message.opened', atMs, data: common },
  ];
}

/** Everything that readers see, and the totals, which have to agree with it. */
async function read(pool: Pool): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const span of ['minute', 'hour', 'day']) {
    const { rows } = await pool.query(
      `select workspace_id, mode, dimension, at, value, counter, sum(n)::int as n
         from statistics_by_${span} group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`,
    );
    all.push(rows);
    if (span === 'minute') continue;
    const { rows: totals } = await pool.query(
      `select workspace_id, mode, 'all' as dimension, at, '' as value, counter, sum(n)::int as n
         from statistics_totals_by_${span}
        where counter in ('messages', 'accepted', 'content_bytes', 'delivered', 'bounced',
          'bounced_later', 'complained', 'failed', 'expired')
        group by 1, 2, 4, 6 order by 1, 2, 4, 6`,
    );
    const expected = rows.filter(({ dimension, counter }) => {
      return dimension === 'all' && !/^(opened|bounced\.|latency\.)/.test(counter);
    });
    expect(totals).toEqual(expected);
  }
  return all;
}

const appendedRows = async (pool: Pool): Promise<number> =>
  (await pool.query('select from statistics_appended')).rowCount ?? 0;

test('adding counts up changes nothing for readers, and late events are added too', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const [one, other] = [newScope(), newScope()];
  const nowMs = systemClock.now();
  const events = (scope: typeof one) =>
    [0, 0, 1, 2, 30].flatMap((hours) => someEvents(scope, nowMs - hours * HOUR_MS));
  await count(pool, [...events(one), ...events(other)]);
  // Another row of the same minute.
  await count(pool, someEvents(one, nowMs));
  const before = await read(pool);
  expect((before[1] as unknown[]).length).toBeGreaterThan(200);
  await foldCounts(pool, [one]);
  expect(await read(pool)).toEqual(before);
  expect(await areCountsFolded(pool, one.workspaceId)).toBe(true);
  expect(await areCountsFolded(pool, other.workspaceId)).toBe(false);

  await count(pool, someEvents(one, nowMs - HOUR_MS));
  const withLate = await read(pool);
  expect(withLate).not.toEqual(before);
  await Promise.all([foldCounts(pool, [one, other]), foldCounts(pool, [other, one])]);
  expect(await read(pool)).toEqual(withLate);
  expect(await appendedRows(pool)).toBe(0);
});

test('counts that the previous release has appended are read and added', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const scope = newScope();
  await count(pool, someEvents(scope, systemClock.now() - 2 * HOUR_MS));
  const before = await read(pool);
  await pool.query(
    `with taken as (delete from statistics_appended returning *)
     insert into statistics_recent (workspace_id, mode, at, messages, accepted, content_bytes, delivered,
       bounced, bounced_later, complained, failed, expired, totals, streams, tags, domains, receivers)
     select workspace_id, mode, at, messages, (t ->> 'accepted')::int, (t ->> 'content_bytes')::bigint,
       delivered, bounced, bounced_later, complained, failed, expired, counts -> 'all',
       counts -> 'stream', counts -> 'tag', counts -> 'domain', counts -> 'receiver'
       from taken cross join lateral (select counts -> 'all' -> '' as t) totals`,
  );
  expect(await read(pool)).toEqual(before);
  expect(await areCountsFolded(pool, scope.workspaceId)).toBe(false);
  await aggregator(pool).foldOld();
  expect(await areCountsFolded(pool, scope.workspaceId)).toBe(true);
  expect(await read(pool)).toEqual(before);
});

test('counts that cannot be added stay where they are', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const scope = newScope();
  await count(pool, someEvents(scope, systemClock.now()));
  const before = await read(pool);
  await pool.query(
    'alter table statistics_days add constraint broken check (at is null) not valid',
  );
  await expect(foldCounts(pool, [scope])).rejects.toThrow('broken');
  expect(await areCountsFolded(pool, scope.workspaceId)).toBe(false);
  expect(await read(pool)).toEqual(before);
});

test('few rows are left of a workspace that sends often, and none of one that no longer sends', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const [often, rarely] = [newScope(), newScope()];
  const node = aggregator(pool);
  const nowMs = systemClock.now();
  await count(pool, someEvents(rarely, nowMs - 2 * HOUR_MS), node);
  let rowsMax = 0;
  for (let batch = 0; batch < 130; batch++) {
    await count(pool, someEvents(often, nowMs).slice(0, 1), node);
    rowsMax = Math.max(rowsMax, await appendedRows(pool));
  }
  const before = await read(pool);
  // One is of the rare one. The first batch of the test may have been the one that adds the other up.
  expect(rowsMax).toBe(1 + 63);
  await node.foldOld();
  expect(await areCountsFolded(pool, rarely.workspaceId)).toBe(true);
  expect(await areCountsFolded(pool, often.workspaceId)).toBe(false);
  expect(await read(pool)).toEqual(before);
});
