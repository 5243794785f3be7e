import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { Postrider, PostriderConnectionError, PostriderError } from '../src/index.ts';
import { fakeTime } from './harness/fake-time.ts';
import { startScriptedServer } from './harness/scripted-server.ts';

/**
 * Requests are sent as specified, with their own options before those of the client; responses that
 * are not from Postrider are rejected.
 */

const KEY = 'pr_test_0123456789abcdefghijABCDEFGHIJ01234567';
const DONE = { status: 200, body: { id: 'msg_1' } };

function clientOf(server: { url: string }): Postrider {
  return new Postrider({ apiKey: KEY, baseUrl: server.url, time: fakeTime() });
}

afterEach(() => void vi.useRealTimers());

test('Content-Type is set for JSON and left to the caller for text', async () => {
  await using server = await startScriptedServer(DONE);
  const postrider = clientOf(server);
  await postrider.messages.get('msg_1');
  await postrider.request('POST', '/suppressions', { body: { email: 'a@b.co' } });
  await postrider.request('POST', '/contacts/import', { body: 'email\na@b.co\n' });
  const types = server.requests.map(({ headers }) => headers['content-type']);
  expect(types).toEqual([undefined, 'application/json', 'text/plain;charset=UTF-8']);
  expect(server.requests.map(({ body }) => body)).toEqual([
    '',
    '{"email":"a@b.co"}',
    'email\na@b.co\n',
  ]);
});

test('bytes are copied before they are sent', async () => {
  await using server = await startScriptedServer('drop', DONE);
  const file = Buffer.from('email\nzoë@b.co\n');
  const time = { ...fakeTime(), wait: async () => void file.fill(0) };
  const postrider = new Postrider({ apiKey: KEY, baseUrl: server.url, time });
  const headers = { 'Content-Type': 'text/csv' };
  await postrider.request('POST', '/contacts/import', { body: file, headers });
  for (const { body, headers } of server.requests) {
    expect([body, headers['content-type']]).toEqual(['email\nzoë@b.co\n', 'text/csv']);
  }
  expect(server.requests).toHaveLength(2);
});

test('a stream is rejected before it is read, because it could be sent only once', async () => {
  await using server = await startScriptedServer(DONE);
  const file = new Blob(['email\na@b.co\n']);
  for (const body of [file, file.stream(), Readable.from(['email\n'])]) {
    const importing = clientOf(server).request('POST', '/contacts/import', { body: body as never });
    await expect(importing).rejects.toThrow('body is a stream');
  }
  expect(server.requests).toEqual([]);
});

test('headers are added but cannot replace the API key', async () => {
  await using server = await startScriptedServer(DONE);
  const headers = { Authorization: 'Bearer other', 'X-Trace': '7' };
  await clientOf(server).messages.get('msg_1', { headers });
  expect(server.requests[0]?.headers).toMatchObject({
    authorization: `Bearer ${KEY}`,
    'x-trace': '7',
  });
});

test('a caller’s idempotency key is used, given as an option or as a header', async () => {
  await using server = await startScriptedServer(DONE);
  const body = { email: 'a@b.co' };
  const headers = { 'Idempotency-Key': 'order-1' };
  const postrider = clientOf(server);
  await postrider.request('POST', '/suppressions', { body, headers });
  await postrider.request('POST', '/suppressions', { body, headers, idempotencyKey: 'order-2' });
  await postrider.request('POST', '/suppressions', { body });
  const keys = server.requests.map((request) => request.headers['idempotency-key']);
  expect(keys).toEqual(['order-1', 'order-2', expect.stringMatching(/^[0-9a-f-]{36}$/)]);
});

test('no idempotency key is sent where the server does not support one', async () => {
  await using server = await startScriptedServer('drop');
  const deleting = clientOf(server).request('DELETE', '/templates/{key}', {
    path: { key: 'welcome' },
    idempotencyKey: 'order-1',
  });
  const error = await deleting.catch((caught: unknown) => caught as PostriderConnectionError);
  expect(error).toMatchObject({ attempts: 1, idempotencyKey: undefined });
  expect((error as Error).message).not.toContain('order-1');
  expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('undefined query values are omitted', async () => {
  await using server = await startScriptedServer(DONE);
  const missing = { status: undefined as never, tag: null as never };
  const query = { ...missing, limit: 5, metadata: { order: '7' } };
  await clientOf(server).request('GET', '/messages', { query });
  expect(server.requests[0]?.path).toBe('/api/v1/messages?limit=5&metadata%5Border%5D=7');
});

test('dates in a query are formatted for the server', async () => {
  await using server = await startScriptedServer(DONE);
  const created_after = new Date(Date.UTC(2026, 10, 15)) as never;
  await clientOf(server).request('GET', '/messages', { query: { created_after } });
  const { searchParams } = new URL(server.requests[0]?.path ?? '', server.url);
  expect(searchParams.get('created_after')).toBe('2026-11-15T00:00:00.000Z');
});

test('a path value that is missing or resolves elsewhere is rejected', async () => {
  await using server = await startScriptedServer(DONE);
  const { messages } = clientOf(server);
  for (const id of [undefined, null, '']) {
    await expect(messages.get(id as never)).rejects.toThrow('path.id is missing');
  }
  for (const id of ['.', '..']) {
    await expect(messages.get(id)).rejects.toThrow('path.id is not a valid path segment');
  }
  expect(server.requests).toEqual([]);
});

test('timeout and retries of a request override those of the client', async () => {
  await using lost = await startScriptedServer('drop');
  const once = clientOf(lost).messages.get('msg_1', { maxRetries: 0 });
  await expect(once).rejects.toMatchObject({ attempts: 1 });
  await using silent = await startScriptedServer('hang');
  const short = clientOf(silent).messages.get('msg_1', { maxRetries: 0, timeoutMs: 50 });
  await expect(short).rejects.toThrow(/timed out after 50 ms/);
});

test('an attempt may have no timeout', async () => {
  await using server = await startScriptedServer(DONE);
  const asking = clientOf(server).messages.get('msg_1', { maxRetries: 0, timeoutMs: Infinity });
  expect(await asking).toEqual(DONE.body);
});

test('a custom fetch is used', async () => {
  const fetch = vi.fn(async () => Response.json({ id: 'msg_1' }));
  const postrider = new Postrider({ apiKey: KEY, baseUrl: 'https://mail.example.com//', fetch });
  expect(await postrider.messages.get('msg_1')).toEqual({ id: 'msg_1' });
  const url = new URL('https://mail.example.com/api/v1/messages/msg_1');
  expect(fetch).toHaveBeenCalledWith(url, expect.anything());
});

test.each([
  'https://mail.example.com/api/v1',
  'https://mail.example.com/api/v1/',
  ' https://mail.example.com \n',
])('the base URL %j may include the API path and surrounding whitespace', async (baseUrl) => {
  const fetch = vi.fn(async () => Response.json({ id: 'msg_1' }));
  await new Postrider({ apiKey: KEY, baseUrl, fetch }).messages.get('msg_1');
  const url = new URL('https://mail.example.com/api/v1/messages/msg_1');
  expect(fetch).toHaveBeenCalledWith(url, expect.anything());
});

test('an aborted signal prevents the request', async () => {
  await using server = await startScriptedServer(DONE);
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  await expect(clientOf(server).messages.get('msg_1', { signal })).rejects.toBe(reason);
  expect(server.requests).toEqual([]);
});

test('every request removes its listener from a shared signal', async () => {
  await using server = await startScriptedServer(DONE, { status: 404, body: {} }, 'drop');
  const { signal } = new AbortController();
  const settings = { signal, maxRetries: 0 };
  const { messages } = clientOf(server);
  await messages.get('msg_1', settings);
  await expect(messages.get('msg_2', settings)).rejects.toBeInstanceOf(PostriderError);
  await expect(messages.get('msg_3', settings)).rejects.toBeInstanceOf(PostriderConnectionError);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('the timeout ends when a streamed response begins', async () => {
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
] as const)(
  'an error response that is not from Postrider is reported as such: %s',
  async ([body, type]) => {
    const headers = { 'content-type': type, 'x-request-id': 'req_7' };
    await using server = await startScriptedServer({ status: 403, body, headers });
    const asking = clientOf(server).messages.get('msg_1');
    await expect(asking).rejects.toMatchObject({
      status: 403,
      code: 'unexpected_response',
      requestId: 'req_7',
    });
  },
);

test('an HTML page in response to a send reports the idempotency key for a retry', async () => {
  await using server = await startScriptedServer({ status: 200, body: '<h1>Welcome</h1>' });
  const message = { to: { email: 'a@b.co' }, subject: 'Hi', html: 'Hi' };
  const sending = clientOf(server).send(message, { idempotencyKey: 'order-1' });
  await expect(sending).rejects.toMatchObject({ idempotencyKey: 'order-1' });
});

test('the constructor validates the API key and the base URL', () => {
  for (const apiKey of [undefined, '', ' ', 'pr_tést']) {
    const making = () => new Postrider({ apiKey: apiKey as never, baseUrl: 'https://a.example' });
    expect(making).toThrow('apiKey is missing or contains invalid characters');
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
    expect(making).toThrow(
      /^baseUrl \(or POSTRIDER_URL\) must be the URL of Postrider, such as \S+$/,
    );
  }
});
