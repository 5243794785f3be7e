import { expect, test } from 'vitest';
import { LargeResponseLimiter } from './large-response-limiter.ts';

/**
 * Goal: each workspace has a few large responses in progress at a time, in request order, and
 * other workspaces do not wait for them. Method: clients that disconnect on command.
 */

function connect(limiter: LargeResponseLimiter, workspaceId: string) {
  const disconnect = new AbortController();
  const client = { started: false, leave: () => disconnect.abort() };
  const started = limiter.acquire(workspaceId, disconnect.signal).then(() => {
    client.started = true;
  });
  started.catch(() => {});
  return { client, started };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('four run, the others wait, and each disconnect starts the next one', async () => {
  const limiter = new LargeResponseLimiter();
  const clients = Array.from({ length: 6 }, () => connect(limiter, 'a'));
  const neighbor = connect(limiter, 'b');
  const started = () => clients.map(({ client }) => client.started);
  await settled();
  expect(started()).toEqual([true, true, true, true, false, false]);
  expect(neighbor.client.started).toBe(true);
  clients[2]?.client.leave();
  await settled();
  expect(started()).toEqual([true, true, true, true, true, false]);
});

test('a client that disconnects while waiting leaves the queue and starts no work', async () => {
  const limiter = new LargeResponseLimiter();
  const running = Array.from({ length: 4 }, () => connect(limiter, 'a'));
  const [first, second] = [connect(limiter, 'a'), connect(limiter, 'a')];
  first.client.leave();
  await expect(first.started).rejects.toMatchObject({ code: 'malformed_request' });
  running[0]?.client.leave();
  await settled();
  expect(second.client.started).toBe(true);
  for (const { client } of [...running, second]) client.leave();
  const later = Array.from({ length: 4 }, () => connect(limiter, 'a'));
  await settled();
  expect(later.map(({ client }) => client.started)).toEqual([true, true, true, true]);
});

test('a queue that is too long is rejected', () => {
  const limiter = new LargeResponseLimiter();
  for (let i = 0; i < 1_004; i++) void connect(limiter, 'a');
  expect(() => limiter.acquire('a', new AbortController().signal)).toThrow(
    expect.objectContaining({ code: 'quota_exceeded' }),
  );
  expect(() => limiter.acquire('b', new AbortController().signal)).not.toThrow();
});

test('a request takes one slot, however many large responses it is made from', async () => {
  const limiter = new LargeResponseLimiter(1);
  const disconnect = new AbortController();
  await limiter.acquire('a', disconnect.signal);
  await limiter.acquire('a', disconnect.signal);
  const next = connect(limiter, 'a');
  await settled();
  expect(next.client.started).toBe(false);
  disconnect.abort();
  await settled();
  expect(next.client.started).toBe(true);
});
