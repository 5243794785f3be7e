import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import type { DnsQuery } from './dns-message.ts';
import { UdpSocket } from './udp-socket.ts';

// Goal: queries share a socket without one being able to harm or delay another. Method: a server on
// a real socket whose replies the test sends itself, in any order.

async function startPeer() {
  const peer = createSocket('udp4');
  const received: { bytes: Buffer; port: number }[] = [];
  peer.on('message', (bytes, { port }) => received.push({ bytes, port }));
  peer.bind(0, '127.0.0.1');
  await once(peer, 'listening');
  const clock = new ManualClock(0);
  const socket = new UdpSocket({
    address: '127.0.0.1',
    port: peer.address().port,
    clock,
    matches: (response, query) => response.question?.name === query.name,
  });
  return {
    received,
    clock,
    socket,
    /** Replies that the name does not exist; `change` forges the reply. */
    reply(index: number, change: (bytes: Buffer) => void = () => {}) {
      const { bytes, port } = received[index] as { bytes: Buffer; port: number };
      const reply = Buffer.from(bytes);
      reply.writeUInt16BE(0x8183, 2);
      change(reply);
      peer.send(reply, port, '127.0.0.1');
    },
    async [Symbol.asyncDispose]() {
      peer.close();
    },
  };
}

const query = (id: number, name: string): DnsQuery => ({
  id,
  name,
  type: 'MX',
  edns: true,
  requestAuthenticated: false,
});

test('queries share a socket and get their own replies, in whatever order', async () => {
  await using peer = await startPeer();
  const first = peer.socket.send(query(1, 'one.test'), 2000);
  const second = peer.socket.send(query(2, 'two.test'), 2000);
  await expect.poll(() => peer.received.length).toBe(2);
  expect(peer.received[0]?.port).toBe(peer.received[1]?.port);
  peer.reply(1);
  expect(await second).toMatchObject({
    kind: 'reply',
    response: { question: { name: 'two.test' } },
  });
  peer.reply(0);
  expect(await first).toMatchObject({
    kind: 'reply',
    response: { question: { name: 'one.test' } },
  });
});

test('a reply to the name of another query looks forged: no query of the socket believes UDP', async () => {
  await using peer = await startPeer();
  const first = peer.socket.send(query(1, 'one.test'), 2000);
  const second = peer.socket.send(query(2, 'two.test'), 2000);
  await expect.poll(() => peer.received.length).toBe(2);
  peer.reply(0, (reply) => reply.writeUInt16BE(2, 0));
  expect(await Promise.all([first, second])).toEqual([{ kind: 'use_tcp' }, { kind: 'use_tcp' }]);
  expect(peer.socket.accepts(3)).toBe(false);
});

test('a reply to an ID that was never used looks forged', async () => {
  await using peer = await startPeer();
  const only = peer.socket.send(query(1, 'one.test'), 2000);
  await expect.poll(() => peer.received.length).toBe(1);
  peer.reply(0, (reply) => reply.writeUInt16BE(7, 0));
  expect(await only).toEqual({ kind: 'use_tcp' });
});

test('a second reply, and one that is late, disturb no other query', async () => {
  await using peer = await startPeer();
  const answered = peer.socket.send(query(1, 'one.test'), 2000);
  const late = peer.socket.send(query(2, 'two.test'), 1000);
  const waiting = peer.socket.send(query(3, 'three.test'), 2000);
  await expect.poll(() => peer.received.length).toBe(3);
  peer.clock.advance(1000);
  expect(await late).toEqual({ kind: 'timeout' });
  // Loopback preserves order.
  for (const index of [0, 0, 1, 2]) peer.reply(index);
  expect(await answered).toMatchObject({ kind: 'reply' });
  expect(await waiting).toMatchObject({ kind: 'reply' });
});

test('takes no query with an ID that it used, after a timeout, or when it is old', async () => {
  await using peer = await startPeer();
  expect(peer.socket.accepts(1)).toBe(true);
  const pending = peer.socket.send(query(1, 'one.test'), 1000);
  expect(peer.socket.accepts(1)).toBe(false);
  expect(peer.socket.accepts(2)).toBe(true);
  peer.clock.advance(1000);
  expect(await pending).toEqual({ kind: 'timeout' });
  expect(peer.socket.accepts(2)).toBe(false);

  await using other = await startPeer();
  other.clock.advance(2000);
  expect(other.socket.accepts(1)).toBe(false);
});

test('takes a limited number of queries', async () => {
  await using peer = await startPeer();
  let taken = 0;
  while (taken < 1000 && peer.socket.accepts(taken)) {
    void peer.socket.send(query(taken, 'one.test'), 2000);
    taken += 1;
  }
  expect(taken).toBe(64);
  await expect.poll(() => peer.received.length).toBe(64);
  peer.clock.advance(2000);
});
