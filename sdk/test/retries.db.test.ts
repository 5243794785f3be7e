import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { goodSend, startApp } from '../../server/test/harness/app.ts';
import {
  type Message,
  Postrider,
  PostriderConnectionError,
  PostriderError,
  type PostriderOptions,
} from '../src/index.ts';
import { systemTime } from '../src/time.ts';
import { startScriptedServer } from './harness/scripted-server.ts';
import { fakeTime } from './harness/fake-time.ts';

const KEY = 'pr_test_0123456789abcdefghijABCDEFGHIJ01234567';
const MESSAGE: Message = { to: { email: 'jane@example.com' }, subject: 'Hello', text: 'Hello!' };
const ACCEPTED = { status: 202, body: { id: 'msg_1' } };

function clientOf(peer: { url: string }, options: Partial<PostriderOptions> = {}): Postrider {
  return new Postrider({ apiKey: KEY, baseUrl: peer.url, time: fakeTime(), ...options });
}

function refusal(status: number, code: string, headers: Record<string, string> = {}) {
  const body = { type: '', title: '', status, code, detail: 'No.', fix: 'Wait.', request_id: 'r' };
  return { status, body, headers };
}

async function errorOf(acting: Promise<unknown>): Promise<unknown> {
  return await acting.then(
    () => expect.fail('it went well'),
    (error: unknown) => error,
  );
}

test('an answer that is lost after the commit: the repetition gets the first answer, and one message exists', async () => {
  await using app = await startApp();
  await using peer = await startScriptedServer({ forward: app.url, lose: true }, { forward: app.url });
  const postrider = clientOf(peer, { apiKey: app.testKey });
  const accepted = await postrider.send(goodSend() as Message);
  const stored = await Array.fromAsync(postrider.messages.list());
  expect(stored.map(({ id }) => id)).toEqual([accepted.id]);
  const [first, second] = peer.requests;
  expect(second?.body).toBe(first?.body);
  expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
  expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
});

test('what is asked to wait waits as Retry-After says, and some more', async () => {
  const inFive = new Date(Date.UTC(2026, 10, 15) + 3_000 + 5_000).toUTCString();
  await using peer = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '3' }),
    refusal(429, 'rate_limited', { 'retry-after': inFive }),
    refusal(409, 'idempotency_key_in_progress'),
    'drop',
    ACCEPTED,
  );
  const time = fakeTime();
  await clientOf(peer, { time }).send(MESSAGE);
  expect(time.waitsMs).toEqual([3_000, 5_000, 1_000, 2_000]);
  expect(new Set(peer.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  const jittered = fakeTime(0.5);
  await using other = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '3' }),
    'drop',
    ACCEPTED,
  );
  await clientOf(other, { time: jittered }).send(MESSAGE);
  expect(jittered.waitsMs).toEqual([3_125, 750]);
});

test('waits grow to eight seconds and no further', async () => {
  await using peer = await startScriptedServer('drop', 'drop', 'drop', 'drop', 'drop', 'drop', ACCEPTED);
  const time = fakeTime(1);
  await clientOf(peer, { time, retriesMax: 6 }).send(MESSAGE);
  expect(time.waitsMs).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
});

test('a minute is waited for, a time that is over not, and nonsense is not believed', async () => {
  const past = new Date(Date.UTC(2026, 10, 14)).toUTCString();
  await using peer = await startScriptedServer(
    refusal(503, 'overloaded', { 'retry-after': '60' }),
    refusal(503, 'overloaded', { 'retry-after': past }),
    refusal(503, 'overloaded', { 'retry-after': 'soon' }),
    ACCEPTED,
  );
  const time = fakeTime();
  await clientOf(peer, { time }).send(MESSAGE);
  expect(time.waitsMs).toEqual([60_000, 0, 1_000]);
});

test('a PUT whose answer was lost is repeated', async () => {
  await using peer = await startScriptedServer('drop', { status: 200, body: {} });
  const path = { email: 'jane@example.com' };
  await clientOf(peer).request('PUT', '/contacts/{email}', { path, body: {} });
  expect(peer.requests).toHaveLength(2);
});

test('a try that takes too long is given up and repeated', async () => {
  await using peer = await startScriptedServer('hang', ACCEPTED);
  const postrider = clientOf(peer, { timeoutMs: 300, retriesMax: 50 });
  expect(await postrider.send(MESSAGE, { idempotencyKey: 'order-1' })).toEqual(ACCEPTED.body);
  expect(peer.requests[1]?.headers['idempotency-key']).toBe('order-1');
});

test('an answer that breaks off in its body is repeated', async () => {
  await using peer = await startScriptedServer('unfinished', { status: 200, body: { id: 'msg_1' } });
  expect(await clientOf(peer).messages.get('msg_1')).toEqual({ id: 'msg_1' });
});

test('repetitions end, and the error tells how to go on', async () => {
  await using peer = await startScriptedServer('drop');
  const error = await errorOf(clientOf(peer, { retriesMax: 2 }).send(MESSAGE));
  expect(error).toBeInstanceOf(PostriderConnectionError);
  const { tries, idempotencyKey, message } = error as PostriderConnectionError;
  expect(peer.requests).toHaveLength(3);
  expect(tries).toBe(3);
  expect(idempotencyKey).toBe(peer.requests[0]?.headers['idempotency-key']);
  expect(message).toMatch(/^POST \/transactional\/send: no answer in 3 tries \(.+\)\. It may/);
  expect(message).toContain(idempotencyKey);
});

test('what asks for a longer wait than a program has is told at once', async () => {
  const tomorrow = refusal(429, 'quota_exceeded', { 'retry-after': '80000' });
  await using peer = await startScriptedServer(tomorrow);
  const error = (await errorOf(clientOf(peer).send(MESSAGE))) as PostriderError;
  expect(error).toMatchObject({ code: 'quota_exceeded', retryAfterMs: 80_000_000 });
  expect(peer.requests).toHaveLength(1);
});

test.for([
  [400, 'malformed_json'],
  [409, 'conflict'],
  [422, 'idempotency_key_reused'],
  [500, 'internal_error'],
  [502, 'unexpected_answer'],
] as const)('%i %s is not repeated', async ([status, code]) => {
  await using peer = await startScriptedServer(refusal(status, code));
  expect(await errorOf(clientOf(peer).send(MESSAGE))).toMatchObject({ status, code });
  expect(peer.requests).toHaveLength(1);
});

test('a DELETE or PATCH whose answer was lost is not repeated, one that was refused for now is', async () => {
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

test('a wait for a test mail is not repeated when its answer is lost: the mail was handed out', async () => {
  await using peer = await startScriptedServer('drop');
  const waiting = clientOf(peer).testInbox.wait({ to: 'jane@example.com' });
  expect(await errorOf(waiting)).toBeInstanceOf(PostriderConnectionError);
  const asking = clientOf(peer).request('GET', '/test/inbox/wait');
  expect(await errorOf(asking)).toBeInstanceOf(PostriderConnectionError);
  expect(peer.requests).toHaveLength(2);
});

test('an abort ends a wait before a repetition', async () => {
  await using peer = await startScriptedServer(refusal(503, 'overloaded', { 'retry-after': '50' }));
  const abort = new AbortController();
  const time = {
    ...systemTime,
    wait: (delayMs: number, signal?: AbortSignal) => {
      queueMicrotask(() => abort.abort(new Error('enough')));
      return systemTime.wait(delayMs, signal);
    },
  };
  const sending = clientOf(peer, { time }).send(MESSAGE, { signal: abort.signal });
  expect(await errorOf(sending)).toBe(abort.signal.reason);
  expect(peer.requests).toHaveLength(1);
});

test('an abort ends a request that nobody answers, and is told as itself', async () => {
  await using peer = await startScriptedServer('hang');
  const abort = new AbortController();
  const options = { signal: abort.signal, retriesMax: 0 };
  const sending = errorOf(clientOf(peer).send(MESSAGE, options));
  await expect.poll(() => peer.requests.length).toBe(1);
  abort.abort();
  expect(await sending).toMatchObject({ name: 'AbortError' });
});

test('a page of somebody else is told as such, whatever its status', async () => {
  await using peer = await startScriptedServer(
    { status: 200, body: '<h1>Welcome to nginx</h1>' },
    { status: 200, body: 'not JSON', headers: { 'content-type': 'application/json' } },
    { status: 502, body: '<h1>Bad gateway</h1>' },
    { status: 301, headers: { location: 'https://elsewhere.test/' } },
  );
  for (const status of [200, 200, 502, 301]) {
    const error = (await errorOf(clientOf(peer).send(MESSAGE))) as PostriderError;
    expect(error).toBeInstanceOf(PostriderError);
    expect(error).toMatchObject({ status, code: 'unexpected_answer' });
    expect(error.message).toContain('Check that baseUrl is the address of Postrider');
  }
  expect(peer.requests).toHaveLength(4);
});

test('the key is in no error, and not in the client when it is logged', async () => {
  await using peer = await startScriptedServer('drop', refusal(401, 'invalid_api_key'));
  const postrider = clientOf(peer, { retriesMax: 0 });
  const shown = [
    await errorOf(postrider.send(MESSAGE)),
    await errorOf(postrider.send(MESSAGE)),
    postrider,
  ];
  for (const one of shown) {
    expect(inspect(one, { depth: 20, showHidden: true })).not.toContain(KEY);
  }
  const broken = `${KEY}\nX-Evil: 1`;
  expect(() => new Postrider({ apiKey: broken, baseUrl: peer.url })).toThrow(
    'apiKey is missing or has characters that no key has',
  );
  expect(() => new Postrider({ apiKey: KEY, baseUrl: 'mail.example.com' })).toThrow('baseUrl');
});
