import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pool } from '../../../src/db/connections/pool.ts';
import { readNextBatch, takeChunk } from '../../../src/events/event-chunk-store.ts';
import { oldestUnprocessed } from '../../../src/events/event-consumer-store.ts';
import type { EventType } from '../../../src/events/event-types.ts';
import { appendEvents, type NewEvent } from '../../../src/events/events-store.ts';
import { uuidv7 } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { StatsAggregator } from '../../../src/stats/stats-aggregator.ts';
import { readUncounted } from '../../../src/stats/stats-store.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';

/**
 * /stats matches the events exactly, whatever process was killed when. Random events of all kinds are counted by
 * consumers that stop between reading and writing, and by several at once; then the events are counted again with
 * independent statements.
 */

const TYPES: EventType[] = [
  'message.accepted',
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.complained',
  'message.unsubscribed',
  'message.opened',
  'message.clicked',
  'message.suppressed',
  'message.failed',
  'message.expired',
  'message.cancelled',
  'domain.verified',
];

function pick<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T;
}

async function fill(pool: Pool, workspaceId: string, count: number): Promise<void> {
  const nowMs = systemClock.now();
  for (let n = 0; n < count; n++) {
    const messageId = uuidv7(nowMs);
    const tags = pick([[], ['welcome'], ['welcome', 'spring'], ['receipt']]);
    const template = pick([null, 'welcome', 'receipt']);
    // Over three days, so that minutes, hours and days all have several rows.
    const atMs = nowMs - Math.floor(Math.random() * 3 * 86_400_000) + 1_000;
    const createdAtMs = atMs - Math.floor(2 ** (Math.random() * 22)) + 1;
    const scheduledAtMs = pick([null, null, createdAtMs + 500]);
    const sender = `a@${pick(['one.example', 'two.example'])}`;
    const stream = pick(['transactional', 'digest']);
    await pool.query(
      `insert into messages (workspace_id, mode, id, created_at, scheduled_at, sender, subject,
         template_key, stream, tags)
       values ($1, 'test', $2, $3, $4, $5, 'S', $6, $7, $8)`,
      [
        workspaceId,
        messageId,
        new Date(createdAtMs),
        scheduledAtMs && new Date(scheduledAtMs),
        sender,
        template,
        stream,
        tags,
      ],
    );
    const about = { workspaceId, mode: 'test' as const, messageId };
    const recipient = pick(['a@gmail.com', 'b@company.example', 'c@outlook.com']);
    const data = {
      tags,
      recipient,
      machine: Math.random() < 0.5,
      recipients: [{ email: recipient }, { email: 'd@yahoo.com' }],
    };
    const events: NewEvent[] = [];
    // Statistics take the message from this event if they read it at the same time as the next.
    if (Math.random() < 0.7) {
      const accepted = { from: sender, template: template && { key: template, version: 1 } };
      const scheduled_at = scheduledAtMs === null ? null : new Date(nowMs).toISOString();
      events.push({
        ...about,
        type: 'message.accepted',
        atMs: createdAtMs,
        data: { ...data, ...accepted, stream, scheduled_at },
      });
    }
    const type = pick(TYPES);
    const bounce = { reason: pick(['unknown_mailbox', 'mailbox_full']) };
    const reason = pick(['hard_bounce', 'complaint']);
    events.push({
      ...about,
      type,
      atMs,
      data: {
        ...data,
        ...(type === 'message.bounced' ? { bounce } : {}),
        ...(type === 'message.suppressed' ? { reason } : {}),
        ...(type === 'message.clicked' ? { first: Math.random() < 0.7 } : {}),
      },
    });
    await appendEvents(pool, events);
  }
}

/** Counts the events independently. */
const RECOUNT = `
with e as (
  select e.*, date_trunc($1, e.created_at, 'UTC') as at, m.sender, m.template_key, m.stream,
         extract(epoch from e.created_at - greatest(m.created_at, m.scheduled_at)) * 1000 as took_ms
    from events e join messages m on m.id = e.message_id),
changes as (
  select *, split_part(type, '.', 2) as counter from e
   where type ~ 'delivered|deferred|bounced|complained|unsubscribed|suppressed|failed|expired|cancelled'
  union all select *, split_part(type, '.', 2)
      || case when (data->>'machine')::boolean then '_by_machine' else '' end
    from e where type = 'message.opened' or type = 'message.clicked' and (data->>'first')::boolean
  union all select *, 'links_clicked' from e
    where type = 'message.clicked' and not (data->>'machine')::boolean
  union all select *, 'suppressed.' || (data->>'reason') from e where type = 'message.suppressed'
  union all select *, 'bounced.' || (data->'bounce'->>'reason') from e where type = 'message.bounced'
  union all select *, 'latency.' || case when took_ms < 1 then 0 else least(116, 1 + floor(4 * log(2, took_ms))) end
    from e where type = 'message.delivered'),
facts as (
  select *, 1 as n from changes
  union all select *, 'messages', 1 from e where type = 'message.accepted'
  union all select *, 'accepted', json_array_length(data->'recipients') from e where type = 'message.accepted'),
mailboxes as (
  select at, counter, data->>'recipient' as email from changes
  union all select at, 'accepted', r->>'email' from e, json_array_elements(data->'recipients') r
    where type = 'message.accepted')
select dimension, at, value, counter, sum(n)::int as n from (
  select 'all' as dimension, at, '' as value, counter, n from facts
  union all select 'tag', at, t.tag, counter, n from facts, json_array_elements_text(data->'tags') t(tag)
  union all select 'stream', at, stream, counter, n from facts
  union all select 'template', at, template_key, counter, n from facts where template_key is not null
  union all select 'domain', at, split_part(sender, '@', 2), counter, n from facts
  union all select 'receiver', at, case split_part(email, '@', 2) when 'gmail.com' then 'google'
      when 'outlook.com' then 'microsoft' when 'yahoo.com' then 'yahoo' else 'other' end, counter, 1
    from mailboxes) x
group by 1, 2, 3, 4 order by 1, 2, 3, 4`;

async function compare(pool: Pool, span: string): Promise<number> {
  const recounted = await pool.query(RECOUNT, [span]);
  const kept = await pool.query(
    `select dimension, at, value collate "C" as value, counter collate "C" as counter, sum(n)::int as n
       from statistics_by_${span} group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
  );
  expect(kept.rows).toEqual(recounted.rows);
  return kept.rows.length;
}

describe('rollups', () => {
  let database: TestDatabase;
  let workspaceId: string;
  beforeAll(async () => {
    // The events are more than three days old and need partitions.
    database = await createTestDatabase({ nowMs: systemClock.now() - 4 * 86_400_000 });
    workspaceId = await newWorkspace(database.pool, systemClock.now());
  });
  afterAll(() => database[Symbol.asyncDispose]());

  const follower = () =>
    new StatsAggregator({ pool: database.pool, clock: systemClock, log: silentLog });

  /** Other tests share the PostgreSQL: their open transactions delay the end of the feed. */
  async function countAll(): Promise<void> {
    await until(async () => {
      await follower().aggregateNext();
      const left = await oldestUnprocessed(database.pool);
      return left.every(({ createdAtMs }) => createdAtMs === null);
    });
  }

  test('equal a recount, with consumers that crash halfway and consumers that race', async () => {
    const { pool } = database;
    await fill(pool, workspaceId, 400);
    const limits = { eventsMax: 20, bytesMax: 2 ** 20 };
    await until(async () => (await takeChunk(pool, 'statistics', limits)) !== undefined);
    for (let round = 0; round < 5; round++) {
      // Read and never written, as by a consumer that is killed.
      await readUncounted(pool, await readNextBatch(pool, 'statistics', limits), new Map());
      const chunk = await takeChunk(pool, 'statistics', limits);
      if (chunk) await readUncounted(pool, chunk, new Map());
      await follower().aggregateNext(17);
    }
    const racing = [follower(), follower(), follower()];
    await Promise.all(
      racing.map(async (one) => {
        for (let n = 0; n < 30; n++) {
          await one.aggregateNext(17);
          // Most are older than an hour.
          if (n % 10 === 9) await one.foldOld();
          // Some are taken over while the one that took them still works on them.
          await pool.query(`update event_chunks set due_at = now() where random() < 0.3`);
        }
      }),
    );
    await pool.query('update event_chunks set due_at = now()');
    await countAll();
    for (const span of ['minute', 'hour', 'day']) {
      expect(await compare(pool, span)).toBeGreaterThan(10);
    }
    await follower().foldOld();
    for (const span of ['minute', 'hour', 'day']) await compare(pool, span);
  });

  test('a failed write does not advance the cursor', async () => {
    const { pool } = database;
    await fill(pool, workspaceId, 30);
    const appended = 'alter table statistics_appended';
    await pool.query(`${appended} add constraint broken check (messages < 0) not valid`);
    await expect(follower().aggregateNext()).rejects.toThrow('broken');
    await pool.query(`${appended} drop constraint broken`);
    await countAll();
    for (const span of ['minute', 'hour', 'day']) await compare(pool, span);
  });

  test('old minutes and hours are deleted, days stay', async () => {
    const { pool } = database;
    const later = { now: () => systemClock.now() + 100 * 86_400_000, after: systemClock.after };
    const much = new StatsAggregator({ pool, clock: later, log: silentLog });
    await much.foldOld();
    await much.deleteOld();
    const left = async (span: string) =>
      (await pool.query(`select count(*)::int as n from statistics_by_${span}`)).rows[0].n;
    expect([await left('minute'), await left('hour')]).toEqual([0, 0]);
    expect(await left('day')).toBeGreaterThan(0);
  });

  test('a tenant with a new tag per message gets one row for the surplus', async () => {
    const { pool } = database;
    const tagger = await newWorkspace(pool, systemClock.now());
    const events = Array.from({ length: 700 }, (_, n) => ({
      workspaceId: tagger,
      mode: 'test' as const,
      type: 'message.delivered' as const,
      atMs: systemClock.now(),
      data: { tags: [`tag-${n}`], recipient: 'a@gmail.com' },
    }));
    await appendEvents(pool, events);
    await countAll();
    const { rows } = await pool.query(
      `select count(distinct value)::int as n, sum(n)::int as sum from statistics_by_day
        where workspace_id = $1 and dimension = 'tag' and counter = 'delivered'`,
      [tagger],
    );
    expect(rows[0]).toEqual({ n: 501, sum: 700 });
  });
});

interface StatsGroup {
  group: string;
  totals: { accepted: number };
  points: unknown[];
}

describe('GET /stats', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('returns the outcomes of messages, by group and over time', async () => {
    const send = (changes: Record<string, unknown>) =>
      app.call('POST', '/transactional/send', { body: validMessage(changes) });
    const tag = 'Welcome, 50 % off';
    await send({ tags: [tag], to: { email: 'a@gmail.com' } });
    await send({ tags: [tag], to: { email: 'bounced@simulator.test' } });
    await send({ to: { email: 'complained@simulator.test' }, from: { email: 'x@two.example' } });
    const totals = async (query = '') =>
      (await app.call('GET', `/stats?interval=minute${query}`)).json.data;
    await until(async () => {
      const [all] = await totals();
      return all.totals.delivered === 2 && all.totals.bounced === 1 && all.totals.complained === 1;
    });
    const [all] = await totals();
    expect(all).toMatchObject({
      group: null,
      totals: {
        messages: 3,
        accepted: 3,
        bounced_by_reason: { unknown_mailbox: 1 },
        rates: { delivered: 0.6667, bounced: 0.3333, complained: 0.5 },
      },
    });
    expect(all.totals.latency.p50_ms).toEqual(expect.any(Number));
    expect(await totals('&group_by=tag')).toMatchObject([
      { group: tag, totals: { accepted: 2, delivered: 1, bounced: 1 } },
    ]);
    expect(await totals(`&group_by=tag&value=${encodeURIComponent(tag)}`)).toHaveLength(1);
    for (const list of ['/messages', '/events?type=message.accepted&']) {
      const query = `${list.includes('?') ? '' : '?'}tag=${encodeURIComponent(tag)}`;
      expect((await app.call('GET', list + query)).json.data).toHaveLength(2);
    }
    const domains = await totals('&group_by=domain');
    expect(domains.map(({ group }: { group: string }) => group).toSorted()).toEqual([
      'example.org',
      'two.example',
    ]);
    expect(await totals('&group_by=domain&value=two.example')).toHaveLength(1);
    expect(await totals('&group_by=template')).toEqual([]);
    const receivers = await totals('&group_by=receiver');
    expect(
      receivers.find(({ group }: { group: string }) => group === 'google').totals.delivered,
    ).toBe(1);
    const stripped = receivers.map((one: object) => ({ ...one, points: [] }));
    expect(await totals('&group_by=receiver&points=false')).toEqual(stripped);
    for (const interval of ['hour', 'day']) {
      const { json } = await app.call('GET', `/stats?interval=${interval}`);
      expect(json.data[0].totals.messages).toBe(3);
    }
  });

  test('the largest groups are complete, however many there are, or the request is rejected', async () => {
    const { id: workspaceId } = await app.app.workspaces.create('Many tags');
    const key = await app.newKey({ workspaceId });
    // 100 tags in each of 600 hours; the last ten are the largest.
    await app.database.pool.query(
      `insert into statistics_hour (workspace_id, mode, dimension, at, value, counter, n)
       select $1, 'test', 'tag', '2026-01-01'::timestamptz + h * interval '1 hour', 'tag-' || t,
              'accepted', case when t > 190 then 2 else 1 end
         from generate_series(0, 599) h, generate_series(101, 200) t`,
      [workspaceId],
    );
    const range = 'interval=hour&group_by=tag&from=2026-01-01T00:00:00Z&to=2026-01-26T00:00:00Z';
    const ask = (query: string) => app.call('GET', `/stats?${range}&${query}`, { key });
    for (const [query, points] of [
      ['limit=10', 600],
      ['limit=10&points=false', 0],
    ] as const) {
      const { json } = await ask(query);
      const groups = json.data.map((one: StatsGroup) => [
        one.group,
        one.totals.accepted,
        one.points.length,
      ]);
      const largest = Array.from({ length: 10 }, (_, n) => [`tag-${191 + n}`, 1_200, points]);
      expect(groups.toSorted()).toEqual(largest);
    }
    const wide = await ask('limit=100');
    expect([wide.status, wide.json.errors?.[0]?.parameter]).toEqual([422, 'limit']);
    expect((await ask('limit=100&points=false')).json.data).toHaveLength(100);
  });

  test('the other mode and other tenants see nothing', async () => {
    const otherWorkspace = await app.app.workspaces.create('Neighbour');
    for (const key of [app.liveKey, await app.newKey({ workspaceId: otherWorkspace.id })]) {
      const { json } = await app.call('GET', '/stats', { key });
      expect(json.data[0].totals.messages).toBe(0);
    }
  });

  test('two nodes on one database count once', async () => {
    await using other = await startApp({ database: app.database });
    const workspace = await app.app.workspaces.create('Two nodes');
    const key = await app.newKey({ workspaceId: workspace.id });
    for (let n = 0; n < 10; n++) {
      const body = validMessage({ tags: ['two'] });
      for (const node of [app, other])
        await node.call('POST', '/transactional/send', { body, key });
    }
    const totals = async (node: TestApp) =>
      (await node.call('GET', '/stats?interval=minute&group_by=tag', { key })).json.data[0]?.totals;
    await until(async () => (await totals(app))?.delivered === 20);
    // A consumer that is too late finds the cursor advanced: nothing is left to count.
    const { rows } = await app.database.pool.query(
      `select from events e, event_consumers f
        where f.name = 'statistics' and (e.tx, e.id) > (f.tx, f.id)`,
    );
    expect(rows).toHaveLength(0);
    for (const node of [app, other]) {
      expect(await totals(node)).toMatchObject({ messages: 20, accepted: 20, delivered: 20 });
    }
  });

  test.each([
    ['?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z', 'from'],
    ['?interval=minute&from=2026-01-01T00:00:00Z&to=2026-11-01T00:00:00Z', 'from'],
    ['?from=yesterday', 'from'],
    ['?interval=week', 'interval'],
    ['?value=welcome', 'value'],
    ['?group_by=colour', 'group_by'],
  ])('%s is rejected', async (query, parameter) => {
    const { status, json } = await app.call('GET', `/stats${query}`);
    expect(status).toBe(422);
    expect(json.errors[0].parameter).toBe(parameter);
  });
});
