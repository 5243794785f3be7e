import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import { appendEvents, EVENT_LOG_START, type NewEvent } from '../../../src/events/events-store.ts';
import {
  EVENT_LOG_END,
  type FeedFilter,
  type FeedOrder,
  readFeed,
} from '../../../src/events/feed-store.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { openEventSource } from '../../harness/http/event-source-reader.ts';

/**
 * The event feed can be read in both directions with every filter; the newest page continues into new
 * events without gaps; and a long history costs nothing. The whole server runs for what users see; the
 * module alone, with inserted events, for timestamps out of order and for the number of rows read.
 */

const MINUTE_MS = 60_000;

interface FeedEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

describe('GET /events', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    for (let n = 0; n < 7; n++) {
      const body = validMessage({ to: { email: `r${n}@example.com` }, tags: [`t${n % 2}`] });
      await app.call('POST', '/transactional/send', { body });
    }
    await until(async () => (await all('type=message.delivered')).length === 7);
  });
  afterAll(() => app[Symbol.asyncDispose]());

  async function all(query: string): Promise<FeedEvent[]> {
    const events: FeedEvent[] = [];
    for (let cursor = '', more = true; more; ) {
      const { json } = await app.call('GET', `/events?limit=3&${query}${cursor}`);
      events.push(...json.data);
      cursor = `&cursor=${json.next_cursor}`;
      more = json.has_more;
    }
    return events;
  }

  const ids = (events: FeedEvent[]): string[] => events.map(({ id }) => id);

  test.each([
    '',
    'type=message.delivered',
    'type=message.*,api_key.created',
    'tag=t1',
    'recipient=R3@example.com',
    'created_after=2026-01-01T00:00:00Z',
    'created_before=2100-01-01T00:00:00Z&tag=t0',
    'created_after=2100-01-01T00:00:00Z',
  ])('newest first is the reverse of oldest first: %s', async (query) => {
    const up = await all(`order=asc&${query}`);
    const down = await all(`order=desc&${query}`);
    expect(ids(down)).toEqual(ids(up).reverse());
    expect(up.length > 0).toBe(!query.includes('after=2100'));
  });

  test('filters return what they name', async () => {
    const [accepted, delivered] = await all('recipient=r3@example.com');
    expect([accepted?.type, delivered?.type]).toEqual(['message.accepted', 'message.delivered']);
    const message_id = accepted?.data.message_id;
    expect(ids(await all(`message_id=${message_id}&order=desc`))).toEqual([
      delivered?.id,
      accepted?.id,
    ]);
    expect(await all(`message_id=${message_id}&type=message.bounced`)).toEqual([]);
    expect(await all('recipient=nobody@example.com')).toEqual([]);
    expect((await all('tag=t1&type=message.accepted')).length).toBe(3);
  });

  test('new events do not affect pages that are read backward', async () => {
    const before = ids(await all('order=desc'));
    const { json: first } = await app.call('GET', '/events?order=desc&limit=5');
    await app.call('POST', '/transactional/send', { body: validMessage() });
    const { json: rest } = await app.call(
      'GET',
      `/events?order=desc&limit=100&cursor=${first.next_cursor}`,
    );
    expect([...ids(first.data), ...ids(rest.data)]).toEqual(before);
    expect([first.has_more, rest.has_more, rest.follow_cursor]).toEqual([true, false, undefined]);
  });

  test('continues from the newest page into the stream and the feed without gaps', async () => {
    const { json: page } = await app.call('GET', '/events?order=desc&limit=2&type=message.*');
    const sent = await app.call('POST', '/transactional/send', { body: validMessage() });
    const stream = `${app.url}/api/v1/events/stream?cursor=${page.follow_cursor}`;
    const reader = await openEventSource(stream, app.testKey);
    await until(() => reader.events.length >= 2);
    reader.close();
    const { json: feed } = await app.call('GET', `/events?cursor=${page.follow_cursor}`);
    const own = (events: FeedEvent[]) =>
      events.filter(({ data }) => data.message_id === sent.json.id).map(({ type }) => type);
    expect(own(reader.events)).toEqual(['message.accepted', 'message.delivered']);
    expect(own(feed.data)).toEqual(['message.accepted', 'message.delivered']);
    expect(ids(page.data)).not.toContain(reader.events[0]?.id);
  });

  test('`latest` is the current end of the feed', async () => {
    const { json: now } = await app.call('GET', '/events?cursor=latest');
    expect([now.data, now.has_more]).toEqual([[], false]);
    const sent = await app.call('POST', '/transactional/send', { body: validMessage() });
    await until(async () => {
      const { json } = await app.call('GET', `/events?cursor=${now.next_cursor}`);
      return json.data[0]?.data.message_id === sent.json.id;
    });
    const { json: newest } = await app.call('GET', '/events?order=desc&cursor=latest&limit=1');
    expect(newest.data).toHaveLength(1);
    const reader = await openEventSource(
      `${app.url}/api/v1/events/stream?cursor=latest`,
      app.testKey,
    );
    expect(reader.events).toEqual([]);
    reader.close();
  });

  test('a cursor is valid for its own order only', async () => {
    const { json: up } = await app.call('GET', '/events?limit=1');
    const { json: down } = await app.call('GET', '/events?limit=1&order=desc');
    for (const path of [
      `/events?order=desc&cursor=${up.next_cursor}`,
      `/events?cursor=${down.next_cursor}`,
      `/events/stream?cursor=${down.next_cursor}`,
    ]) {
      const { status, json } = await app.call('GET', path);
      expect([status, json.errors[0].parameter, json.errors[0].code]).toEqual([
        422,
        'cursor',
        'invalid_cursor',
      ]);
      expect(json.detail).toMatch(/was issued for order=(asc|desc)/);
    }
    for (const query of [
      'order=sideways',
      'order=desc&cursor=nonsense',
      'cursor=WzEsIngiLCJ5Il0',
    ]) {
      expect((await app.call('GET', `/events?${query}`)).status).toBe(422);
    }
  });

  test('an event that commits late is on no earlier page, and on one afterwards', async () => {
    const slow = await app.database.pool.connect();
    await slow.query('begin');
    const event = { workspaceId: app.workspaceId, mode: 'test' as const, atMs: Date.now() };
    const data = { template: { kind: 'template', key: 'welcome', version: 1 } };
    await appendEvents(slow, [{ ...event, type: 'template.published', data }]);
    await app.call('POST', '/transactional/send', { body: validMessage() });
    const { json: page } = await app.call('GET', '/events?order=desc&limit=100');
    await slow.query('commit');
    slow.release();
    const seen = ids(page.data);
    await until(async () => {
      const { json } = await app.call('GET', `/events?limit=100&cursor=${page.follow_cursor}`);
      return json.data.length >= 3 && json.data.every(({ id }: FeedEvent) => !seen.includes(id));
    });
    const { json: rest } = await app.call('GET', `/events?limit=100&cursor=${page.follow_cursor}`);
    expect(ids([...page.data, ...rest.data]).sort()).toEqual(ids(await all('')).sort());
  });
});

describe('the events module', () => {
  const nowMs = Date.now();

  async function scene() {
    const database = await createTestDatabase();
    const workspaceId = await newWorkspace(database.pool, nowMs);
    const scope = { workspaceId, mode: 'test' as const };
    const tell = (times: number[], type: NewEvent['type'] = 'template.published') =>
      appendEvents(
        database.pool,
        times.map((atMs) => ({ ...scope, type, atMs, data: {} })),
      );
    return { database, scope, tell };
  }

  async function timesOf(
    pool: Pool,
    scope: { workspaceId: string; mode: 'test' },
    filter: FeedFilter,
    order: FeedOrder,
  ): Promise<number[]> {
    const times: number[] = [];
    let from = order === 'asc' ? EVENT_LOG_START : EVENT_LOG_END;
    for (let more = true; more; ) {
      const page = await readFeed(pool, scope, from, 3, filter, order);
      times.push(...page.events.map(({ createdAtMs }) => createdAtMs - nowMs));
      from = page.next;
      more = page.hasMore;
    }
    return times;
  }

  test('a time filter finds events that nodes recorded out of order', async () => {
    const { database, scope, tell } = await scene();
    await using _ = database;
    // In the order of insertion, by minute.
    const written = [0, 1, 2, 3, 30, 5, 31, 6, 32, 33, 7, 34, 60, 58, 61];
    for (const minute of written) await tell([nowMs + minute * MINUTE_MS]);
    // Another test's open transaction in the same PostgreSQL delays the end of the feed.
    await until(
      async () => (await timesOf(database.pool, scope, {}, 'asc')).length === written.length,
    );
    for (const [after, before] of [
      [5, 33],
      [30, 59],
      [0, 100],
      [59, 61],
      [200, 300],
    ] as const) {
      const filter = {
        createdAfterMs: nowMs + after * MINUTE_MS,
        createdBeforeMs: nowMs + before * MINUTE_MS,
      };
      const expected = written
        .filter((minute) => minute >= after && minute < before)
        .map((minute) => minute * MINUTE_MS);
      expect(await timesOf(database.pool, scope, filter, 'asc')).toEqual(expected);
      expect(await timesOf(database.pool, scope, filter, 'desc')).toEqual(expected.reverse());
    }
  });

  test('a page reads no more rows of a long history than of a short one', async () => {
    const { database, scope } = await scene();
    await using _ = database;
    const otherWorkspace = await newWorkspace(database.pool, nowMs);
    for (const workspaceId of [otherWorkspace, scope.workspaceId]) {
      for (let n = 0; n < 40; n++) {
        const atMs = nowMs + n * 360 * MINUTE_MS;
        await fill(database.pool, workspaceId, atMs, 1_000);
      }
    }
    await database.pool.query('analyze events');
    // One session, so that its own read statistics are complete.
    await using pool = disposable(
      openPool({ hosts: [{ connectionString: database.url }], log: silentLog, max: 1 }),
    );
    const late = nowMs + 39 * 360 * MINUTE_MS;
    const { rows } = await pool.query<{ message_id: string }>(
      'select message_id from events where workspace_id = $1 order by tx desc limit 1',
      [scope.workspaceId],
    );
    const messageId = rows[0]?.message_id as string;
    const quiet = { ...scope, mode: 'live' as const };
    for (const order of ['asc', 'desc'] as const) {
      const cost = (filter: FeedFilter, whose: typeof scope | typeof quiet = scope) =>
        rowsRead(pool, () =>
          readFeed(
            pool,
            whose,
            order === 'asc' ? EVENT_LOG_START : EVENT_LOG_END,
            20,
            filter,
            order,
          ),
        );
      // Custom plans at first, a generic plan later: both must be efficient.
      for (let n = 0; n < 7; n++) {
        expect(await cost({})).toBeLessThan(300);
        expect(await cost({}, quiet)).toBeLessThan(50);
      }
      expect(await cost({ messageId })).toBeLessThan(50);
      expect(await cost({ recipient: 'nobody@example.com' })).toBeLessThan(50);
      expect(await cost({ types: ['message.delivered'] })).toBeLessThan(1_500);
      expect(await cost({ createdAfterMs: late })).toBeLessThan(2_500);
      expect(await cost({ createdBeforeMs: nowMs + 1 })).toBeLessThan(2_500);
      // A search without matches scans a limited range.
      expect(await cost({ tag: 'nowhere' })).toBeLessThan(11_000);
    }
  });
});

async function fill(pool: Pool, workspaceId: string, atMs: number, count: number): Promise<void> {
  await pool.query(
    `insert into events (workspace_id, mode, tx, id, type, created_at, message_id, data)
     select $1, 'test', pg_current_xact_id()::text::bigint, uuid_of($2::bigint, n),
            'message.delivered', to_timestamp($2::bigint / 1000.0), uuid_of($2::bigint, n), '{}'
       from generate_series(1, $3::int) n`.replaceAll(
      /uuid_of\(([^,]+), n\)/g,
      "(lpad(to_hex($1), 12, '0') || '7' || substr(md5(random()::text), 1, 19))::uuid",
    ),
    [workspaceId, atMs, count],
  );
}

async function rowsRead(pool: Pool, work: () => Promise<unknown>): Promise<number> {
  const before = await readSoFar(pool);
  await work();
  return (await readSoFar(pool)) - before;
}

async function readSoFar(pool: Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ n: number }>(
    `select (coalesce(sum(t.seq_tup_read), 0) + coalesce(sum(i.n), 0))::bigint as n
       from pg_stat_user_tables t left join lateral (
         select sum(idx_tup_read) as n from pg_stat_user_indexes x where x.relid = t.relid) i on true
      where t.relname like 'events%'`,
  );
  return rows[0]?.n ?? 0;
}

function disposable(pool: Pool): Pool & AsyncDisposable {
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.end() });
}
