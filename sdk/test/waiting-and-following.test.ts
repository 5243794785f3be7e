import { expect, test, vi } from 'vitest';
import { Postrider } from '../src/index.ts';
import { collect } from './harness/collect.ts';
import { fakeTime } from './harness/fake-time.ts';
import { startScriptedServer } from './harness/scripted-server.ts';

/** Long waits are split into requests that the server allows, without gaps. */

const KEY = 'pr_test_0123456789abcdefghijABCDEFGHIJ01234567';

/** A server with an empty test inbox whose waits end immediately. */
function emptyInbox(options: { answerAfterMs?: number } = {}) {
  const time = { ...fakeTime(), nowMs: () => nowMs };
  let nowMs = 0;
  const waits: number[] = [];
  const fetch = async (input: unknown, init?: RequestInit) => {
    const seconds = Number((input as URL).searchParams.get('timeout'));
    waits.push(seconds);
    nowMs += seconds * 1000;
    if (options.answerAfterMs !== undefined) {
      await vi.advanceTimersByTimeAsync(options.answerAfterMs);
      init?.signal?.throwIfAborted();
    }
    return Response.json({ message: null });
  };
  const baseUrl = 'https://mail.example.com';
  return { postrider: new Postrider({ apiKey: KEY, baseUrl, time, fetch }), waits };
}

test('a long wait for a test message is split into waits that the server allows', async () => {
  const { postrider, waits } = emptyInbox();
  expect(await postrider.testInbox.wait({ timeoutSeconds: 130 })).toBeNull();
  expect(waits).toEqual([60, 60, 10]);
});

test('a wait lasts at least one second', async () => {
  const { postrider, waits } = emptyInbox();
  expect(await postrider.testInbox.wait({ timeoutSeconds: 0 })).toBeNull();
  expect(waits).toEqual([1]);
});

test('the timeout of an attempt is added to the requested wait', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { postrider } = emptyInbox({ answerAfterMs: 61_000 });
    const settings = { timeoutSeconds: 60, timeoutMs: 2_000, maxRetries: 0 };
    expect(await postrider.testInbox.wait(settings)).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});

function page(data: unknown[], next_cursor: string, has_more: boolean) {
  return { status: 200, body: { data, next_cursor, has_more } };
}

function problem(status: number) {
  const texts = { type: 'about:blank', title: 'T', detail: 'D', fix: 'F', request_id: 'req_1' };
  return { ...texts, status, code: 'some_code' };
}

test('following reads page by page and waits only at the end', async () => {
  await using server = await startScriptedServer(
    page([{ id: 'evt_1' }], 'c1', true),
    page([], 'c2', true),
    page([{ id: 'evt_2' }], 'c3', false),
    page([], 'c4', false),
    page([{ id: 'evt_3' }], 'c5', false),
  );
  const time = fakeTime();
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time });
  const seen: unknown[] = [];
  for await (const { data, next_cursor } of postrider.events.follow({ cursor: 'c0' })) {
    seen.push([...data.map(({ id }) => id), next_cursor]);
    if (seen.length === 3) break;
  }
  expect(seen).toEqual([
    ['evt_1', 'c1'],
    ['evt_2', 'c3'],
    ['evt_3', 'c5'],
  ]);
  const cursors = server.requests.map(({ path }) =>
    new URL(path, server.url).searchParams.get('cursor'),
  );
  expect(cursors).toEqual(['c0', 'c1', 'c2', 'c3', 'c4']);
  expect(time.waitsMs).toEqual([2_000, 2_000]);
});

test('following survives a server outage without losing events', async () => {
  const away = { status: 503, body: problem(503), headers: { 'retry-after': '3600' } };
  const proxy = { status: 502, body: '<h1>Bad Gateway</h1>' };
  const outage = Array.from({ length: 10 }, () => 'drop' as const);
  await using server = await startScriptedServer(
    page([{ id: 'evt_1' }], 'c1', true),
    ...outage,
    proxy,
    { status: 500, body: problem(500) },
    away,
    'unfinished',
    page([{ id: 'evt_2' }], 'c2', false),
  );
  const time = fakeTime();
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time, maxRetries: 1 });
  const following = postrider.events.follow();
  expect((await following.next()).value.next_cursor).toBe('c1');
  expect((await following.next()).value.next_cursor).toBe('c2');
  const cursors = server.requests.map(({ path }) =>
    new URL(path, server.url).searchParams.get('cursor'),
  );
  expect(cursors).toEqual([null, ...Array.from({ length: 15 }, () => 'c1')]);
  expect(time.waitsMs.slice(0, 6)).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000]);
  expect(time.waitsMs).toContain(3_600_000);
});

test.each([
  ['a refusal', {}, { status: 401, body: problem(401) }, 1],
  ['maxRetries in its options', { maxRetries: 2 }, 'drop' as const, 3],
])('%s ends following', async (_, options, step, attempts) => {
  await using server = await startScriptedServer(step);
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time: fakeTime() });
  await expect(postrider.events.follow(options).next()).rejects.toThrow('GET /events');
  expect(server.requests).toHaveLength(attempts);
});

test('an abort ends following during a server outage', async () => {
  await using server = await startScriptedServer('drop');
  const abort = new AbortController();
  const reason = new Error('enough');
  const played = fakeTime();
  const time = {
    ...played,
    wait: async (delayMs: number, signal?: AbortSignal) => {
      if (server.requests.length === 20) abort.abort(reason);
      await played.wait(delayMs, signal);
    },
  };
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time });
  await expect(postrider.events.follow({ signal: abort.signal }).next()).rejects.toBe(reason);
});

test('an abort ends the wait at the end of the feed', async () => {
  await using server = await startScriptedServer(page([], 'c1', false));
  const abort = new AbortController();
  const reason = new Error('enough');
  const handed: unknown[] = [];
  const time = {
    ...fakeTime(),
    wait: async (_delayMs: number, signal?: AbortSignal) => {
      handed.push(signal);
      abort.abort(reason);
    },
  };
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time, maxRetries: 0 });
  const following = postrider.events.follow({ signal: abort.signal });
  await expect(following.next()).rejects.toBe(reason);
  expect(handed).toEqual([abort.signal]);
  expect(server.requests).toHaveLength(1);
});

test('listing events ends at the current end of the feed', async () => {
  await using server = await startScriptedServer(
    page([{ id: 'evt_1' }], 'c1', true),
    page([{ id: 'evt_2' }], 'c2', false),
  );
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time: fakeTime() });
  const events = await collect(postrider.all('/events'));
  expect(events.map(({ id }) => id)).toEqual(['evt_1', 'evt_2']);
  expect(server.requests).toHaveLength(2);
});

function streamed(...chunks: string[]) {
  const headers = { 'content-type': 'text/event-stream' };
  return { status: 200, body: chunks.join(''), headers };
}

test('a stream resumes after its last event when the connection ends', async () => {
  const event = (id: string) => `id: ${id}\ndata: ${JSON.stringify({ id, type: 'message.x' })}\n\n`;
  await using server = await startScriptedServer(
    page([], 'c0', false),
    streamed(
      ': comment\n\n',
      event('c1'),
      'id: c2\r\ndata: {"id":"c2",\r\ndata: "type":"t"}\r\n\r\n',
    ),
    'drop',
    { status: 502, body: 'proxy' },
    streamed('id: c9\ndata: {"unfinished', ''),
    streamed(event('c3')),
    { status: 401, body: problem(401) },
  );
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time: fakeTime() });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { event, cursor } of postrider.events.stream({ type: 'message.*' })) {
      expect(event.id).toBe(cursor);
      seen.push(cursor);
    }
  })();
  await expect(reading).rejects.toMatchObject({ status: 401 });
  expect(seen).toEqual(['c1', 'c2', 'c3']);
  const cursors = server.requests.map(({ path }) =>
    new URL(path, 'http://x').searchParams.get('cursor'),
  );
  expect(cursors).toEqual(['latest', 'c0', 'c2', 'c2', 'c2', 'c2', 'c3']);
});

test('a stream is aborted by its signal, and not started if the server rejects it', async () => {
  await using server = await startScriptedServer('hang');
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time: fakeTime() });
  const abort = new AbortController();
  const reading = postrider.events.stream({ cursor: 'c1', signal: abort.signal }).next();
  await expect.poll(() => server.requests.length).toBe(1);
  const reason = new Error('enough');
  abort.abort(reason);
  await expect(reading).rejects.toBe(reason);
});
