import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventStreams } from '../../../src/events/event-streams.ts';
import { appendEvents } from '../../../src/events/events-store.ts';
import { encodeEventCursor } from '../../../src/http/routes/events/event-query.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { type EventSourceReader, openEventSource } from '../../harness/http/event-source-reader.ts';

/**
 * A connected reader sees every event once, in order, from its starting point, and can reconnect with its
 * last id; a slow reader does not delay others. The whole server runs with a plain client for server-sent
 * events; limits are tested on the module alone.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const url = (query = ''): string => `${app.url}/api/v1/events/stream${query}`;
const send = () => app.call('POST', '/transactional/send', { body: validMessage() });

test('events arrive as they happen, for the mode of the key only', async () => {
  const reader = await openEventSource(url(), app.testKey);
  const live = await openEventSource(url(), app.liveKey);
  const { json } = await send();
  await until(() => reader.events.length === 2);
  expect(reader.events.map(({ type }) => type)).toEqual(['message.accepted', 'message.delivered']);
  expect(reader.events[0]?.data.message_id).toBe(json.id);
  expect(live.events).toEqual([]);
  reader.close();
  live.close();
});

test('a filter returns what it names', async () => {
  const reader = await openEventSource(url('?type=message.delivered,domain.*'), app.testKey);
  await send();
  await send();
  await until(() => reader.events.length === 2);
  expect(reader.events.map(({ type }) => type)).toEqual(['message.delivered', 'message.delivered']);
  reader.close();
});

test('reconnecting with the last id neither misses nor repeats events', async () => {
  const all: string[] = [];
  let lastId: string | undefined;
  const { json: start } = await app.call('GET', '/events?limit=1');
  lastId = start.next_cursor as string;
  const sending = (async () => {
    for (let n = 0; n < 30; n++) await send();
  })();
  for (let visit = 0; visit < 6; visit++) {
    const reader = await openEventSource(url(), app.testKey, lastId);
    const wanted = visit + 1;
    await until(() => reader.events.length >= wanted);
    reader.close();
    await until(() => reader.ended);
    all.push(...reader.events.map(({ id }) => id));
    lastId = reader.lastId;
  }
  await sending;
  const last = await openEventSource(url(), app.testKey, lastId);
  const expected = await feed(start.next_cursor);
  await until(
    async () => all.length + last.events.length >= (await feed(start.next_cursor)).length,
  );
  last.close();
  all.push(...last.events.map(({ id }) => id));
  expect(new Set(all).size).toBe(all.length);
  expect(all.slice(0, expected.length)).toEqual(expected);
});

async function feed(cursor: string): Promise<string[]> {
  const ids: string[] = [];
  for (let next = cursor, more = true; more; ) {
    const { json } = await app.call('GET', `/events?limit=100&cursor=${next}`);
    ids.push(...json.data.map(({ id }: { id: string }) => id));
    next = json.next_cursor;
    more = json.has_more;
  }
  return ids;
}

test('an invalid Last-Event-ID and an unknown type are rejected', async () => {
  const headers = { 'last-event-id': 'nonsense' };
  expect((await app.call('GET', '/events/stream', { headers })).status).toBe(422);
  expect((await app.call('GET', '/events/stream?type=message.eaten')).status).toBe(422);
  const { json } = await app.call('GET', '/events/stream?type=message.bounce');
  expect(json.detail).toContain(
    'Unknown event type: message.bounce. Did you mean message.bounced?',
  );
});

test('a change to an API key disconnects the workspace’s readers so that they reconnect', async () => {
  const workspace = await app.app.workspaces.create('Readers');
  const key = await app.newKey({ workspaceId: workspace.id });
  const reader = await openEventSource(url(), key);
  await app.call('POST', '/api-keys', { body: { name: 'another' }, key });
  await until(() => reader.ended);
});

test('the number of streams per workspace is limited', async () => {
  const workspace = await app.app.workspaces.create('Many');
  const key = await app.newKey({ workspaceId: workspace.id });
  const readers: EventSourceReader[] = [];
  const openAll = async () => {
    for (;;) readers.push(await openEventSource(url(), key));
  };
  await expect(openAll()).rejects.toThrow('Refused: 429 rate_limited');
  expect(readers.length).toBeGreaterThanOrEqual(20);
  // The notification of the new key may arrive late and disconnect some of them.
  await expect.poll(() => readers.filter(({ ended }) => !ended).length).toBeLessThanOrEqual(20);
  for (const reader of readers) reader.close();
});

test('the number of streams per server is limited', async () => {
  await using full = await startApp({ streams: { totalMax: 1 } });
  const reader = await openEventSource(`${full.url}/api/v1/events/stream`, full.testKey);
  const { status, headers, json } = await full.call('GET', '/events/stream');
  expect([status, json.code, headers.get('retry-after')]).toEqual([503, 'overloaded', '5']);
  reader.close();
});

test('shutdown does not wait for readers', async () => {
  const other = await startApp();
  const reader = await openEventSource(`${other.url}/api/v1/events/stream`, other.testKey);
  await other[Symbol.asyncDispose]();
  await until(() => reader.ended);
});

async function openStreams(
  limits: ConstructorParameters<typeof EventStreams>[0]['limits'],
  clock = systemClock,
) {
  const database = await createTestDatabase();
  const { pool } = database;
  const scope = { workspaceId: await newWorkspace(pool, Date.now()), mode: 'test' as const };
  const streams = new EventStreams({
    pool,
    clock,
    log: silentLog,
    cursorOf: encodeEventCursor,
    ...(limits ? { limits } : {}),
  });
  return {
    pool,
    scope,
    streams,
    async tell(count: number, bytes = 10) {
      const data = { text: 'x'.repeat(bytes) };
      const event = { ...scope, type: 'template.published' as const, atMs: Date.now(), data };
      await appendEvents(
        pool,
        Array.from({ length: count }, () => event),
      );
      streams.wake();
    },
    async [Symbol.asyncDispose]() {
      await streams.stop();
      await database[Symbol.asyncDispose]();
    },
  };
}

test('the event log is read only while there are streams', async () => {
  const clock = new ManualClock(Date.now());
  await using scene = await openStreams(undefined, clock);
  const { streams, scope } = scene;
  for (let visit = 0; visit < 2; visit++) {
    const stream = await streams.open(scope, undefined, {});
    let text = '';
    stream.on('data', (chunk) => {
      text += chunk;
    });
    await scene.tell(1);
    await until(() => text.includes('template.published'), { clock });
    stream.destroy();
    await until(() => clock.timers === 0, { clock });
    // A read that was in progress has ended, and no other one follows.
    await scene.pool.query('select');
    await scene.pool.query('select');
    expect(clock.timers).toBe(0);
  }
});

test('a reader that does not read is disconnected, and the others get all events', async () => {
  await using scene = await openStreams({ bufferedBytesMax: 50_000 });
  const { streams, scope } = scene;
  const idle = await streams.open(scope, undefined, {});
  const busy = await streams.open(scope, undefined, {});
  let got = 0;
  busy.on('data', (chunk: Buffer) => {
    got += chunk.toString().split('\ndata: ').length - 1;
  });
  // Until both have caught up, events are not shared between them.
  await scene.tell(1);
  await until(() => got === 1);
  for (let n = 0; n < 40; n++) await scene.tell(5, 1_000);
  await until(() => got === 201);
  await until(() => idle.destroyed);
  expect(streams.count).toBe(1);
});

test('a long backlog is read at the reader’s speed', async () => {
  await using scene = await openStreams({ bufferedBytesMax: 50_000 });
  await scene.tell(400, 1_000);
  const slow = await scene.streams.open(
    scene.scope,
    { tx: 0, id: `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}` },
    {},
  );
  let got = 0;
  for await (const chunk of slow) {
    got += chunk.toString().split('\ndata: ').length - 1;
    expect(slow.readableLength).toBeLessThan(300_000);
    if (got >= 400) break;
  }
  expect(got).toBe(400);
});

test('sends heartbeats, and ends after its lifetime', async () => {
  const clock = new ManualClock(Date.now());
  await using scene = await openStreams({ heartbeatMs: 1_000, lifetimeMs: 10_000 }, clock);
  const body = await scene.streams.open(scene.scope, undefined, {});
  let text = '';
  let ended = false;
  body.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  body.on('end', () => {
    ended = true;
  });
  await until(() => ended, { clock, stepMs: 100 });
  expect(text.split(': still here').length - 1).toBeGreaterThanOrEqual(8);
  expect(scene.streams.count).toBe(0);
});
