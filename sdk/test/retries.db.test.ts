import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../server/test/harness/app.ts';
import {
  type Message,
  Postrider,
  PostriderConnectionError,
  PostriderError,
  type PostriderOptions,
} from '../src/index.ts';
import { systemTime } from '../src/time.ts';
import { collect } from './harness/collect.ts';
import { fakeTime } from './harness/fake-time.ts';
import { startScriptedServer } from './harness/scripted-server.ts';

const KEY = 'pr_test_0123456789abcdefghijABCDEFGHIJ01234567';
const MESSAGE: Message = { to: { email: 'jane@example.com' }, subject: 'Hello', text: 'Hello!' };
const ACCEPTED = { status: 202, body: { id: 'msg_1' } };

function clientOf(server: { url: string }, options: Partial<PostriderOptions> = {}): Postrider {
  return new Postrider({ apiKey: KEY, baseUrl: server.url, time: fakeTime(), ...options });
}

function refusal(status: number, code: string, headers: Record<string, string> = {}) {
  const body = { type: '', title: '', status, code, detail: 'No.', fix: 'Wait.', request_id: 'r' };
  return { status, body, headers };
}

async function errorOf(acting: Promise<unknown>): Promise<unknown> {
  return await acting.then(
    () => expect.fail('the request succeeded'),
    (error: unknown) => error,
  );
}

test('a response lost after the commit: the retry gets the first response, and one message exists', async () => {
  await using app = await startApp();
  await using server = await startScriptedServer(
    { forward: app.url, lose: true },
    { forward: app.url },
  );
  const postrider = clientOf(server, { apiKey: app.testKey });
  const accepted = await postrider.send(validMessage() as Message);
  const stored = await collect(postrider.messages.list());
  expect(stored.map(({ id }) => id)).toEqual([accepted.id]);
  const [first, second] = server.requests;
  expect(second?.body).toBe(first?.body);
  expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
  expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
});

test('waits at least as long as Retry-After says', async () => {
  const inFive = new Date(Date.UTC(2026, 10, 15) + 3_000 + 5_000).toUTCString();
  await using server = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '3' }),
    refusal(429, 'rate_limited', { 'retry-after': inFive }),
    refusal(409, 'idempotency_key_in_progress'),
    'drop',
    ACCEPTED,
  );
  const time = fakeTime();
  await clientOf(server, { time }).send(MESSAGE);
  expect(time.waitsMs).toEqual([3_000, 5_000, 1_000, 2_000]);
  expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  const jittered = fakeTime(0.5);
  await using other = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '3' }),
    'drop',
    ACCEPTED,
  );
  await clientOf(other, { time: jittered }).send(MESSAGE);
  expect(jittered.waitsMs).toEqual([3_125, 750]);
});

test('backoff grows to eight seconds and stays there', async () => {
  await using server = await startScriptedServer(
    'drop',
    'drop',
    'drop',
    'drop',
    'drop',
    'drop',
    ACCEPTED,
  );
  const time = fakeTime(1);
  await clientOf(server, { time, maxRetries: 6 }).send(MESSAGE);
  expect(time.waitsMs).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
});

test('waits up to a minute; ignores past dates and invalid Retry-After values', async () => {
  const past = new Date(Date.UTC(2026, 10, 14)).toUTCString();
  await using server = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '60' }),
    refusal(503, 'overloaded', { 'retry-after': past }),
    refusal(503, 'overloaded', { 'retry-after': 'soon' }),
    ACCEPTED,
  );
  const time = fakeTime();
  await clientOf(server, { time }).send(MESSAGE);
  expect(time.waitsMs).toEqual([60_000, 0, 1_000]);
});

test('a PUT is retried after a lost response', async () => {
  await using server = await startScriptedServer('drop', { status: 200, body: {} });
  const path = { email: 'jane@example.com' };
  await clientOf(server).request('PUT', '/contacts/{email}', { path, body: {} });
  expect(server.requests).toHaveLength(2);
});

test('an attempt that times out is retried', async () => {
  await using server = await startScriptedServer('hang', ACCEPTED);
  const postrider = clientOf(server, { timeoutMs: 300, maxRetries: 50 });
  expect(await postrider.send(MESSAGE, { idempotencyKey: 'order-1' })).toEqual(ACCEPTED.body);
  expect(server.requests[1]?.headers['idempotency-key']).toBe('order-1');
});

test('a response that ends in the middle of its body is retried', async () => {
  await using server = await startScriptedServer('unfinished', {
    status: 200,
    body: { id: 'msg_1' },
  });
  expect(await clientOf(server).messages.get('msg_1')).toEqual({ id: 'msg_1' });
});

test('retries are limited, and the error says how to continue', async () => {
  await using server = await startScriptedServer('drop');
  const error = await errorOf(clientOf(server, { maxRetries: 2 }).send(MESSAGE));
  expect(error).toBeInstanceOf(PostriderConnectionError);
  const { attempts, idempotencyKey, message } = error as PostriderConnectionError;
  expect(server.requests).toHaveLength(3);
  expect(attempts).toBe(3);
  expect(idempotencyKey).toBe(server.requests[0]?.headers['idempotency-key']);
  expect(message).toMatch(
    /^POST \/transactional\/send: no response from http:\/\/\S+ after 3 attempts \(.+\)\. It may/,
  );
  expect(message).toContain(idempotencyKey);
});

test('a longer Retry-After than the client waits for is reported immediately', async () => {
  const tomorrow = refusal(429, 'quota_exceeded', { 'retry-after': '80000' });
  await using server = await startScriptedServer(tomorrow);
  const error = (await errorOf(clientOf(server).send(MESSAGE))) as PostriderError;
  expect(error).toMatchObject({ code: 'quota_exceeded', retryAfterMs: 80_000_000 });
  expect(server.requests).toHaveLength(1);
});

test.for([
  [400, 'malformed_json'],
  [409, 'conflict'],
  [422, 'idempotency_key_reused'],
  [500, 'internal_error'],
  [502, 'unexpected_response'],
] as const)('%i %s is not retried', async ([status, code]) => {
  await using server = await startScriptedServer(refusal(status, code));
  expect(await errorOf(clientOf(server).send(MESSAGE))).toMatchObject({ status, code });
  expect(server.requests).toHaveLength(1);
});

test('a DELETE or PATCH is retried after 503 but not after a lost response', async () => {
  await using lost = await startScriptedServer('drop');
  const path = { key: 'welcome' };
  const deleting = clientOf(lost).request('DELETE', '/templates/{key}', { path });
  expect(await errorOf(deleting)).toBeInstanceOf(PostriderConnectionError);
  const changing = clientOf(lost).request('PATCH', '/templates/{key}', { path, body: {} });
  expect(await errorOf(changing)).toBeInstanceOf(PostriderConnectionError);
  expect(lost.requests.map(({ method }) => method)).toEqual(['DELETE', 'PATCH']);
  await using busy = await startScriptedServer(refusal(503, 'overloaded'), { status: 204 });
  await clientOf(busy).request('DELETE', '/templates/{key}', { path });
  expect(busy.requests).toHaveLength(2);
});

test('waiting for a test message is not retried after a lost response, which consumed the message', async () => {
  await using server = await startScriptedServer('drop');
  const waiting = clientOf(server).testInbox.wait({ to: 'jane@example.com' });
  expect(await errorOf(waiting)).toBeInstanceOf(PostriderConnectionError);
  const asking = clientOf(server).request('GET', '/test/inbox/wait');
  expect(await errorOf(asking)).toBeInstanceOf(PostriderConnectionError);
  expect(server.requests).toHaveLength(2);
});

test('an abort ends the wait before a retry', async () => {
  await using server = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '50' }),
  );
  const abort = new AbortController();
  const time = {
    ...systemTime,
    wait: (delayMs: number, signal?: AbortSignal) => {
      queueMicrotask(() => abort.abort(new Error('enough')));
      return systemTime.wait(delayMs, signal);
    },
  };
  const sending = clientOf(server, { time }).send(MESSAGE, { signal: abort.signal });
  expect(await errorOf(sending)).toBe(abort.signal.reason);
  expect(server.requests).toHaveLength(1);
});

test('an abort ends a request without a response and is thrown as is', async () => {
  await using server = await startScriptedServer('hang');
  const abort = new AbortController();
  const options = { signal: abort.signal, maxRetries: 0 };
  const sending = errorOf(clientOf(server).send(MESSAGE, options));
  await expect.poll(() => server.requests.length).toBe(1);
  abort.abort();
  expect(await sending).toMatchObject({ name: 'AbortError' });
});

test('a page of another server is reported as such, whatever its status', async () => {
  await using server = await startScriptedServer(
    { status: 200, body: '<h1>Welcome to nginx</h1>' },
    { status: 200, body: 'not JSON', headers: { 'content-type': 'application/json' } },
    { status: 502, body: '<h1>Bad gateway</h1>' },
    { status: 301, headers: { location: 'https://elsewhere.test/' } },
  );
  for (const status of [200, 200, 502, 301]) {
    const error = (await errorOf(clientOf(server).send(MESSAGE))) as PostriderError;
    expect(error).toBeInstanceOf(PostriderError);
    expect(error).toMatchObject({ status, code: 'unexpected_response' });
    expect(error.message).toContain('Check that baseUrl is the URL of Postrider');
  }
  expect(server.requests).toHaveLength(4);
});

test('neither errors nor the logged client contain the API key', async () => {
  await using server = await startScriptedServer('drop', refusal(401, 'invalid_api_key'));
  const postrider = clientOf(server, { maxRetries: 0 });
  const shown = [
    await errorOf(postrider.send(MESSAGE)),
    await errorOf(postrider.send(MESSAGE)),
    postrider,
  ];
  for (const one of shown) {
    expect(inspect(one, { depth: 20, showHidden: true })).not.toContain(KEY);
  }
  const broken = `${KEY}\nX-Evil: 1`;
  expect(() => new Postrider({ apiKey: broken, baseUrl: server.url })).toThrow(
    'apiKey is missing or contains invalid characters',
  );
  expect(() => new Postrider({ apiKey: KEY, baseUrl: 'mail.example.com' })).toThrow('baseUrl');
});
