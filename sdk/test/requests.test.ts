import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { Postrider, PostriderConnectionError, PostriderError } from '../src/index.ts';
import { startScriptedServer } from './harness/scripted-server.ts';
import { fakeTime } from './harness/fake-time.ts';

/**
 * Goal: what a program asks for is what goes out, with its own settings above those of the client;
 * what comes back from somebody else is not taken for an answer.
 */

const KEY = 'pr_test_0123456789abcdefghijABCDEFGHIJ01234567';
const DONE = { status: 200, body: { id: 'msg_1' } };

function clientOf(peer: { url: string }): Postrider {
  return new Postrider({ apiKey: KEY, baseUrl: peer.url, time: fakeTime() });
}

afterEach(() => void vi.useRealTimers());

test('the type of a body is named when it is JSON, and is the program’s to name when it is text', async () => {
  await using peer = await startScriptedServer(DONE);
  const postrider = clientOf(peer);
  await postrider.messages.get('msg_1');
  await postrider.request('POST', '/suppressions', { body: { email: 'a@b.co' } });
  await postrider.request('POST', '/contacts/import', { body: 'email\na@b.co\n' });
  const types = peer.requests.map(({ headers }) => headers['content-type']);
  expect(types).toEqual([undefined, 'application/json', 'text/plain;charset=UTF-8']);
  expect(peer.requests.map(({ body }) => body)).toEqual(['', '{"email":"a@b.co"}', 'email\na@b.co\n']);
});

test('bytes go out as they were when they were handed in', async () => {
  await using peer = await startScriptedServer('drop', DONE);
  const file = Buffer.from('email\nzoë@b.co\n');
  const time = { ...fakeTime(), wait: async () => void file.fill(0) };
  const postrider = new Postrider({ apiKey: KEY, baseUrl: peer.url, time });
  const headers = { 'Content-Type': 'text/csv' };
  await postrider.request('POST', '/contacts/import', { body: file, headers });
  for (const { body, headers } of peer.requests) {
    expect([body, headers['content-type']]).toEqual(['email\nzoë@b.co\n', 'text/csv']);
  }
  expect(peer.requests).toHaveLength(2);
});

test('a stream is refused before it is read: it could be sent once only', async () => {
  await using peer = await startScriptedServer(DONE);
  const file = new Blob(['email\na@b.co\n']);
  for (const body of [file, file.stream(), Readable.from(['email\n'])]) {
    const importing = clientOf(peer).request('POST', '/contacts/import', { body: body as never });
    await expect(importing).rejects.toThrow('body is a stream');
  }
  expect(peer.requests).toEqual([]);
});

test('headers are added, and none takes the place of the key', async () => {
  await using peer = await startScriptedServer(DONE);
  const headers = { Authorization: 'Bearer other', 'X-Trace': '7' };
  await clientOf(peer).messages.get('msg_1', { headers });
  expect(peer.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'x-trace': '7' });
});

test('a key of the program’s own is the one that is sent, as a setting or as a header', async () => {
  await using peer = await startScriptedServer(DONE);
  const body = { email: 'a@b.co' };
  const headers = { 'Idempotency-Key': 'order-1' };
  const postrider = clientOf(peer);
  await postrider.request('POST', '/suppressions', { body, headers });
  await postrider.request('POST', '/suppressions', { body, headers, idempotencyKey: 'order-2' });
  await postrider.request('POST', '/suppressions', { body });
  const keys = peer.requests.map((asked) => asked.headers['idempotency-key']);
  expect(keys).toEqual(['order-1', 'order-2', expect.stringMatching(/^[0-9a-f-]{36}$/)]);
});

test('a key is not named where the server knows none', async () => {
  await using peer = await startScriptedServer('drop');
  const deleting = clientOf(peer).request('DELETE', '/templates/{key}', {
    path: { key: 'welcome' },
    idempotencyKey: 'order-1',
  });
  const error = await deleting.catch((caught: unknown) => caught as PostriderConnectionError);
  expect(error).toMatchObject({ tries: 1, idempotencyKey: undefined });
  expect((error as Error).message).not.toContain('order-1');
  expect(peer.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('a query leaves out what is not given', async () => {
  await using peer = await startScriptedServer(DONE);
  const missing = { status: undefined as never, tag: null as never };
  const query = { ...missing, limit: 5, metadata: { order: '7' } };
  await clientOf(peer).request('GET', '/messages', { query });
  expect(peer.requests[0]?.path).toBe('/api/v1/messages?limit=5&metadata%5Border%5D=7');
});

test('a time in a query is one that the server reads', async () => {
  await using peer = await startScriptedServer(DONE);
  const created_after = new Date(Date.UTC(2026, 10, 15)) as never;
  await clientOf(peer).request('GET', '/messages', { query: { created_after } });
  const { searchParams } = new URL(peer.requests[0]?.path ?? '', peer.url);
  expect(searchParams.get('created_after')).toBe('2026-11-15T00:00:00.000Z');
});

test('a path whose value is missing or leads elsewhere is not asked for', async () => {
  await using peer = await startScriptedServer(DONE);
  const { messages } = clientOf(peer);
  for (const id of [undefined, null, '']) {
    await expect(messages.get(id as never)).rejects.toThrow('path.id is missing');
  }
  for (const id of ['.', '..']) {
    await expect(messages.get(id)).rejects.toThrow('path.id is not a name');
  }
  expect(peer.requests).toEqual([]);
});

test('time and repetitions of one request go before those of the client', async () => {
  await using lost = await startScriptedServer('drop');
  const once = clientOf(lost).messages.get('msg_1', { retriesMax: 0 });
  await expect(once).rejects.toMatchObject({ tries: 1 });
  await using silent = await startScriptedServer('hang');
  const short = clientOf(silent).messages.get('msg_1', { retriesMax: 0, timeoutMs: 50 });
  await expect(short).rejects.toThrow(/50 ms were up/);
});

test('a try may take as long as it takes', async () => {
  await using peer = await startScriptedServer(DONE);
  const asking = clientOf(peer).messages.get('msg_1', { retriesMax: 0, timeoutMs: Infinity });
  expect(await asking).toEqual(DONE.body);
});

test('a fetch of your own is the one that is used', async () => {
  const fetch = vi.fn(async () => Response.json({ id: 'msg_1' }));
  const postrider = new Postrider({ apiKey: KEY, baseUrl: 'https://mail.example.com//', fetch });
  expect(await postrider.messages.get('msg_1')).toEqual({ id: 'msg_1' });
  const asked = new URL('https://mail.example.com/api/v1/messages/msg_1');
  expect(fetch).toHaveBeenCalledWith(asked, expect.anything());
});

test.each([
  'https://mail.example.com/api/v1',
  'https://mail.example.com/api/v1/',
  ' https://mail.example.com \n',
])('the path of the API may stand in %j, and blanks around it', async (baseUrl) => {
  const fetch = vi.fn(async () => Response.json({ id: 'msg_1' }));
  await new Postrider({ apiKey: KEY, baseUrl, fetch }).messages.get('msg_1');
  const asked = new URL('https://mail.example.com/api/v1/messages/msg_1');
  expect(fetch).toHaveBeenCalledWith(asked, expect.anything());
});

test('what was aborted before is not asked for', async () => {
  await using peer = await startScriptedServer(DONE);
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  await expect(clientOf(peer).messages.get('msg_1', { signal })).rejects.toBe(reason);
  expect(peer.requests).toEqual([]);
});

test('a signal that many requests share is let go by each', async () => {
  await using peer = await startScriptedServer(DONE, { status: 404, body: {} }, 'drop');
  const { signal } = new AbortController();
  const settings = { signal, retriesMax: 0 };
  const { messages } = clientOf(peer);
  await messages.get('msg_1', settings);
  await expect(messages.get('msg_2', settings)).rejects.toBeInstanceOf(PostriderError);
  await expect(messages.get('msg_3', settings)).rejects.toBeInstanceOf(PostriderConnectionError);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('the time of a try ends when a streamed answer begins', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let ending: AbortSignal | null | undefined;
  const fetch = async (_input: unknown, init?: RequestInit) => {
    ending = init?.signal;
    return new Response('begun');
  };
  const postrider = new Postrider({ apiKey: KEY, baseUrl: 'https://mail.example.com', fetch });
  await postrider.response('GET', '/events/stream', { timeoutMs: 1_000 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ending?.aborted).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test.for([
  ['"text"', 'application/json'],
  ['null', 'application/json'],
  ['{"message":"Forbidden"}', 'application/json'],
  ['{"code":"a","detail":"b"}', 'application/problem+json'],
  ['{"code":"a","detail":"b","status":403,"errors":{"to":["No."]}}', 'application/problem+json'],
  ['{"code":403,"detail":null,"status":"Forbidden"}', 'application/json'],
  ['<h1>Forbidden</h1>', 'text/html'],
] as const)('a refusal of somebody else is told as such: %s', async ([body, type]) => {
  const headers = { 'content-type': type, 'x-request-id': 'req_7' };
  await using peer = await startScriptedServer({ status: 403, body, headers });
  const asking = clientOf(peer).messages.get('msg_1');
  await expect(asking).rejects.toMatchObject({
    status: 403,
    code: 'unexpected_answer',
    requestId: 'req_7',
  });
});

test('a page in place of the answer to a send names the key to go on with', async () => {
  await using peer = await startScriptedServer({ status: 200, body: '<h1>Welcome</h1>' });
  const message = { to: { email: 'a@b.co' }, subject: 'Hi', html: 'Hi' };
  const sending = clientOf(peer).send(message, { idempotencyKey: 'order-1' });
  await expect(sending).rejects.toMatchObject({ idempotencyKey: 'order-1' });
});

test('a client needs a key and an address, and says which is wrong', () => {
  for (const apiKey of [undefined, '', ' ', 'pr_tést']) {
    const making = () => new Postrider({ apiKey: apiKey as never, baseUrl: 'https://a.example' });
    expect(making).toThrow('apiKey is missing or has characters that no key has');
  }
  const wrong = [
    undefined,
    'localhost:3000',
    'ftp://a.example',
    'https://',
    'https://jane:secret@a.example',
    'https://a.example/?tenant=7',
    'https://a.example#top',
    new URL('https://a.b'),
  ];
  for (const baseUrl of wrong) {
    const making = () => new Postrider({ apiKey: KEY, baseUrl: baseUrl as never });
    expect(making).toThrow(/^baseUrl is the address of Postrider, such as \S+$/);
  }
});
