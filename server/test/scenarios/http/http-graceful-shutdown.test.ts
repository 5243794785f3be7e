import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';

/**
 * Shutdown completes even if clients keep connections open: sockets that send nothing, half a request, or
 * a request whose response takes a minute.
 */

const TIMEOUT_MS = 60_000;

async function connectTo(app: TestApp, sent = ''): Promise<Socket> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {}).resume();
  if (sent) socket.write(sent);
  return socket;
}

test('idle connections are closed immediately, and a request in progress gets its response', {
  timeout: TIMEOUT_MS,
}, async () => {
  const app = await startApp({ env: { DRAIN_SECONDS: '600' } });
  const silent = [await connectTo(app), await connectTo(app, 'GET /healthz HTTP/1.1\r\nHost: ')];
  const cut = silent.map((socket) => once(socket, 'close'));
  const arrived = once(app.app.http.server, 'request');
  const waited = app.call('GET', '/test/inbox/wait?to=nobody@example.com&timeout=2');
  await arrived;
  await connectionsOf(app, 3);
  await app[Symbol.asyncDispose]();
  // Keep-alive would hold its connection for more than a minute.
  expect((await waited).json).toEqual({ message: null });
  await Promise.all(cut);
});

test('requests that exceed the shutdown timeout are cut off', { timeout: TIMEOUT_MS }, async () => {
  const app = await startApp({ env: { DRAIN_SECONDS: '1' } });
  const arrived = once(app.app.http.server, 'request');
  const waited = app.call('GET', '/test/inbox/wait?to=nobody@example.com&timeout=60');
  const failed = expect(waited).rejects.toThrow();
  await arrived;
  await app[Symbol.asyncDispose]();
  await failed;
});

test('connected clients are served until the listener closes', async () => {
  const app = await startApp({ env: { DRAIN_SECONDS: '600' } });
  const ask = (path: string) =>
    `GET /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.testKey}\r\n\r\n`;
  const arrived = once(app.app.http.server, 'request');
  const socket = await connectTo(app, ask('/test/inbox/wait?timeout=4'));
  let answered = '';
  socket.setEncoding('utf8').on('data', (text) => {
    answered += text;
  });
  await arrived;
  const stopped = app[Symbol.asyncDispose]();
  await expect.poll(() => app.app.http.server.listening).toBe(false);
  socket.write(ask('/limits'));
  await stopped;
  expect(answered.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  expect(answered).toMatch(/connection: close/i);
});

/** Waits until the server has seen the connections of the test. */
async function connectionsOf(app: TestApp, count: number): Promise<void> {
  const { server } = app.app.http;
  const open = (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_error, number) => resolve(number)));
  await expect.poll(open).toBeGreaterThanOrEqual(count);
}
