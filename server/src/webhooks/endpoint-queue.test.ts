import { expect, test } from 'vitest';
import { EndpointQueue, type LeasedDelivery } from './endpoint-queue.ts';

const NOW = 1_000_000;

function queueWith(count: number): EndpointQueue {
  const queue = new EndpointQueue('webhook', 16);
  for (let n = 0; n < count; n++) queue.add({ lease: n } as LeasedDelivery);
  return queue;
}

function startAll(queue: EndpointQueue, nowMs = NOW): number {
  let started = 0;
  while (queue.mayStart(nowMs)) {
    queue.take();
    queue.inFlight += 1;
    started += 1;
  }
  return started;
}

test('starts low and grows with success, up to its maximum', () => {
  const queue = queueWith(100);
  expect(startAll(queue)).toBe(4);
  queue.inFlight = 0;
  for (let n = 0; n < 50; n++) queue.succeeded(2);
  expect(startAll(queue)).toBe(16);
});

test('returns deliveries in order, however many have passed', () => {
  const queue = queueWith(0);
  let next = 0;
  for (let round = 0; round < 30; round++) {
    for (let n = 0; n < 20; n++) queue.add({ lease: round * 20 + n } as LeasedDelivery);
    for (let n = 0; n < 19; n++) expect(queue.take()?.lease).toBe(next++);
  }
  expect(queue.waiting).toBe(30);
  expect(queue.takeAll().map((delivery) => delivery.lease)).toEqual(
    Array.from({ length: 30 }, (_, n) => next + n),
  );
  expect(queue.take()).toBeUndefined();
});

test('slow failures shrink the limit, quick ones do not', () => {
  const slow = queueWith(100);
  slow.failed(15_000, NOW, undefined);
  slow.failed(15_000, NOW, undefined);
  expect(startAll(slow)).toBe(1);
  const quick = queueWith(100);
  quick.failed(5, NOW, undefined);
  quick.failed(5, NOW, undefined);
  expect(startAll(quick)).toBe(4);
});

test('an endpoint that only fails is tried at most every five seconds', () => {
  const queue = queueWith(100);
  for (let n = 0; n < 30; n++) queue.failed(5, NOW, undefined);
  expect(queue.mayStart(NOW + 4_999)).toBe(false);
  expect(queue.capacity(NOW + 4_999)).toBe(0);
  expect(startAll(queue, NOW + 5_000)).toBe(1);
});

test('a success ends the pause', () => {
  const queue = queueWith(100);
  for (let n = 0; n < 30; n++) queue.failed(5, NOW, undefined);
  queue.succeeded(5);
  expect(queue.mayStart(NOW)).toBe(true);
});

test('pauses as long as Retry-After asks for, within bounds', () => {
  const queue = queueWith(10);
  queue.failed(5, NOW, 60_000);
  expect(queue.mayStart(NOW + 59_999)).toBe(false);
  expect(queue.mayStart(NOW + 60_000)).toBe(true);
  queue.failed(5, NOW, 10 ** 9);
  expect(queue.mayStart(NOW + 600_000)).toBe(true);
});

test('holds about as much as is sent in two seconds', () => {
  const fast = queueWith(0);
  for (let n = 0; n < 100; n++) fast.succeeded(10);
  expect(fast.capacity(NOW)).toBe(500);
  const slow = queueWith(0);
  for (let n = 0; n < 100; n++) slow.succeeded(1_000);
  expect(slow.capacity(NOW)).toBe(33);
  for (let n = 0; n < 33; n++) slow.add({} as LeasedDelivery);
  expect(slow.capacity(NOW)).toBe(0);
});

test('a clock set back ends a pause instead of extending it', () => {
  const queue = queueWith(100);
  for (let n = 0; n < 30; n++) queue.failed(5, NOW, 60_000);
  expect(queue.mayStart(NOW + 1_000)).toBe(false);
  expect(queue.mayStart(NOW - 3_600_000)).toBe(true);
  queue.failed(5, NOW - 3_600_000, undefined);
  expect(queue.mayStart(NOW - 3_600_000 + 4_999)).toBe(false);
  expect(queue.mayStart(NOW - 3_600_000 + 5_000)).toBe(true);
});
