import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { freePort } from '../../../test/harness/free-port.ts';
import { createHttpListener, resolveListenAddresses } from './http-listener.ts';

/**
 * Goal: a server that listens on several addresses, as `localhost` may resolve to, serves and
 * drains all of them alike. Method: two loopback addresses, raw sockets on both, and a request
 * whose response waits for the test.
 */

const ADDRESSES = ['127.0.0.1', '127.0.0.2'] as const;

async function connectTo(host: string, url: string, sent = ''): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), host);
  await once(socket, 'connect');
  socket.on('error', () => {}).setEncoding('utf8');
  if (sent) socket.write(sent);
  return socket;
}

/** Resolves on a reset too. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().on('close', () => resolve()));
}

async function answerOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket) text += piece;
  return text;
}

test.each(ADDRESSES)(
  'draining answers a request in progress on %s and closes the other connections',
  async (host) => {
    const http = Fastify();
    let arrived = 0;
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    http.get('/', async () => {
      arrived += 1;
      await gate;
      return 'done';
    });
    const listener = createHttpListener(http);
    const url = await listener.listen(ADDRESSES, 0);
    const silent = await connectTo(host, url);
    const asking = await connectTo(host, url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => arrived).toBe(1);
    let isShut = false;
    const drained = listener.drain(600_000).then(() => {
      isShut = true;
    });
    await closed(silent);
    expect(isShut).toBe(false);
    open();
    expect(await answerOf(asking)).toMatch(/^HTTP\/1.1 200.*done$/s);
    await drained;
    for (const address of ADDRESSES) {
      await expect(connectTo(address, url)).rejects.toThrow('ECONNREFUSED');
    }
  },
);

test('connections that outlast the limit are closed on each address', async () => {
  const http = Fastify();
  http.get('/', () => new Promise(() => {}));
  const listener = createHttpListener(http);
  const url = await listener.listen(ADDRESSES, 0);
  const sockets = await Promise.all(
    ADDRESSES.map((host) => connectTo(host, url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')),
  );
  const cut = sockets.map((socket) => closed(socket));
  await listener.drain(100);
  await Promise.all(cut);
});

test('an unavailable address is skipped, and a port in use is an error', async () => {
  const port = await freePort();
  const first = createHttpListener(Fastify());
  expect(await first.listen(['127.0.0.2', '192.0.2.1'], port)).toBe(`http://127.0.0.2:${port}`);
  const second = Fastify();
  await expect(createHttpListener(second).listen(ADDRESSES, port)).rejects.toThrow('EADDRINUSE');
  expect(second.server.listening).toBe(false);
  await first.drain(0);
});

test('a host is its own address, and localhost is what it resolves to', async () => {
  expect(await resolveListenAddresses('::')).toEqual(['::']);
  const found = await resolveListenAddresses('localhost');
  expect(found.every((address) => address === '127.0.0.1' || address === '::1')).toBe(true);
});
