import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tlsFixtures } from '../../../test/harness/smtp/tls-fixtures.ts';
import {
  type ScriptedResponse,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../../test/harness/webhooks/webhook-receiver.ts';
import { type Clock, systemClock } from '../../lib/time/clock.ts';
import { createResolver } from '../../mail/dns/resolver.ts';
import { createTargetGuard } from './target-guard.ts';
import { createWebhookClient, type WebhookClient } from './webhook-client.ts';

const guard = createTargetGuard({
  resolver: createResolver({ clock: systemClock, servers: ['127.0.0.1:1'], timeoutMs: 50 }),
  allowPrivate: true,
});

let poster: WebhookClient;
beforeEach(() => {
  poster = createWebhookClient({
    clock: systemClock,
    guard,
    deadlineMs: 30_000,
    ca: tlsFixtures.authority,
  });
});
afterEach(() => poster.close());

function post(url: string) {
  const body = Buffer.from('{"type":"x"}');
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  return poster.post({ url: new URL(url), headers, body });
}

async function respondWith(script: ScriptedResponse) {
  await using receiver = await startWebhookReceiver({ answer: () => script });
  return { response: await post(receiver.url), receiver };
}

describe('responses', () => {
  test('2xx counts as delivered and returns the response body', async () => {
    const { response, receiver } = await respondWith({ status: 202, body: 'thanks' });
    expect(response).toMatchObject({ status: 202, body: 'thanks', error: null });
    expect(receiver.received[0]?.body).toBe('{"type":"x"}');
  });

  test('redirects are not followed', async () => {
    await using elsewhere = await startWebhookReceiver();
    const { response } = await respondWith({ status: 301, headers: { location: elsewhere.url } });
    expect(response.status).toBe(301);
    expect(response.error).toContain('Redirects are not followed');
    expect(elsewhere.received).toHaveLength(0);
  });

  test('a protocol upgrade is reported at once', async () => {
    const headers = { connection: 'upgrade', upgrade: 'h2c' };
    const { response } = await respondWith({ status: 101, headers });
    expect(response).toMatchObject({
      status: 101,
      error: expect.stringContaining('Only 2xx counts'),
    });
  });

  test('an interim response that was not asked for is skipped', async () => {
    const server = createServer((socket) => {
      const response =
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
      socket.once('data', () => socket.end(response));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200, body: 'ok' });
    server.close();
  });

  test('410, 429 and 500 are reported with their Retry-After', async () => {
    expect((await respondWith({ status: 410 })).response.error).toContain('permanently gone');
    const limited = await respondWith({ status: 429, headers: { 'retry-after': '120' } });
    expect(limited.response).toMatchObject({ status: 429, retryAfterMs: 120_000 });
    expect((await respondWith({ status: 500, body: 'oh no' })).response).toMatchObject({
      status: 500,
      body: 'oh no',
      error: 'The endpoint responded with status 500. Only 2xx counts as delivered.',
    });
  });

  test('the first 4 KiB of a long response are kept', async () => {
    const { response } = await respondWith({ status: 200, body: 'x'.repeat(50_000) });
    expect(response.status).toBe(200);
    expect(response.body).toBe('x'.repeat(4096));
  });

  test('an endless response is cut off, and its status counts', async () => {
    const { response } = await respondWith('endless');
    expect(response).toMatchObject({ status: 200, error: null });
    expect(response.body).toHaveLength(4096);
  });

  test('a response that stalls counts by its status, within the deadline', async () => {
    const waits: number[] = [];
    let nowMs = 0;
    const clock: Clock = {
      now: () => nowMs,
      after(delayMs, task) {
        waits.push(delayMs);
        return systemClock.after(waits.length === 1 ? 30_000 : 500, task);
      },
    };
    poster = createWebhookClient({ clock, guard, deadlineMs: 10_000 });
    await using receiver = await startWebhookReceiver({
      answer: () => {
        nowMs = 9_000;
        return 'unfinished';
      },
    });
    expect(await post(receiver.url)).toMatchObject({ status: 200, error: null, body: 'and then' });
    expect(waits).toEqual([10_000, 1_000]);
  });

  test('NUL characters and invalid UTF-8 are handled', async () => {
    const { response } = await respondWith({ status: 200, body: 'a\0b' });
    expect(response.body).toBe('ab');
  });
});

describe('no response', () => {
  test('a receiver that hangs is abandoned at the deadline', async () => {
    poster = createWebhookClient({ clock: systemClock, guard, deadlineMs: 1_000 });
    const { response } = await respondWith('hang');
    expect(response).toMatchObject({ status: null, body: null });
    expect(response.error).toBe('No response within 1 seconds.');
  });

  test('a connection closed early', async () => {
    const { response } = await respondWith('close');
    expect(response.error).toBe('The receiver closed the connection before responding.');
  });

  test('a response that is not HTTP', async () => {
    const { response } = await respondWith('garbage');
    expect(response.error).toBe('The response is not valid HTTP.');
  });

  test('no listener', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const response = await post(`http://127.0.0.1:${port}/`);
    expect(response.error).toBe(`The connection to 127.0.0.1:${port} was refused.`);
  });

  test('a forbidden address is never contacted', async () => {
    await using receiver = await startWebhookReceiver();
    const resolver = createResolver({ clock: systemClock, servers: ['127.0.0.1:1'] });
    const strict = createWebhookClient({
      clock: systemClock,
      guard: createTargetGuard({ resolver, allowPrivate: false }),
    });
    const response = await strict.post({
      url: new URL(receiver.url),
      headers: {},
      body: Buffer.from('{}'),
    });
    strict.close();
    expect(response.error).toContain('was not contacted');
    expect(receiver.connections).toBe(0);
  });
});

describe('TLS', () => {
  async function over(tls: { key: string; cert: string }) {
    await using receiver = await startWebhookReceiver({ tls });
    return { response: await post(receiver.url), received: receiver.received };
  }

  test('a valid certificate is accepted', async () => {
    const { response, received } = await over(tlsFixtures.good);
    expect(response).toMatchObject({ status: 204, error: null });
    expect(received).toHaveLength(1);
  });

  test.each([
    ['expired', tlsFixtures.expired, 'has expired'],
    ['for another host', tlsFixtures.wrongName, 'is for a different host'],
    ['self-signed', tlsFixtures.selfSigned, 'not signed by a trusted authority'],
    ['forged', tlsFixtures.forged, ''],
  ])('a certificate that is %s is rejected, and nothing is sent', async (_, tls, error) => {
    const { response, received } = await over(tls);
    expect(response.status).toBeNull();
    expect(response.error).toContain(error);
    expect(received).toHaveLength(0);
  });

  test('plain http behind an https URL is recognized', async () => {
    await using receiver = await startWebhookReceiver();
    const response = await post(receiver.url.replace('http:', 'https:'));
    expect(response.error).toContain('may be using plain HTTP');
  });
});

describe('connections', () => {
  async function several(receiver: WebhookReceiver, count: number) {
    const all = [];
    for (let n = 0; n < count; n++) all.push(await post(receiver.url));
    return all;
  }

  test('are reused for the next attempt', async () => {
    await using receiver = await startWebhookReceiver();
    const response = await several(receiver, 5);
    expect(response.every((one) => one.error === null)).toBe(true);
    expect(receiver.connections).toBe(1);
  });

  test('of concurrent attempts are reused as well, up to a limit', async () => {
    await using receiver = await startWebhookReceiver();
    const wave = () => Promise.all(Array.from({ length: 20 }, () => post(receiver.url)));
    await wave();
    expect(receiver.connections).toBe(20);
    // Sockets are returned in the same turn of the event loop.
    await new Promise(setImmediate);
    await wave();
    expect(receiver.connections).toBe(24);
    expect(receiver.received).toHaveLength(40);
  });

  test('over TLS resume the session of an earlier one', async () => {
    await using receiver = await startWebhookReceiver({
      tls: tlsFixtures.good,
      answer: () => ({ status: 200, headers: { connection: 'close' } }),
    });
    await several(receiver, 3);
    expect(receiver.connections).toBe(3);
    expect(receiver.resumedSessions).toBe(2);
  });

  test('closed by the receiver are replaced transparently', async () => {
    await using receiver = await startWebhookReceiver();
    await several(receiver, 1);
    let closed = false;
    receiver.answer = () => {
      if (closed) return { status: 204 };
      closed = true;
      return 'close';
    };
    const [response] = await several(receiver, 1);
    expect(response).toMatchObject({ status: 204, error: null });
    expect(receiver.received).toHaveLength(3);
  });
});
