import { expect, test } from 'vitest';
import { type Held, Lane } from './lane.ts';

const NOW = 1_000_000;

function laneWith(count: number): Lane {
  const lane = new Lane('webhook', 16);
  for (let n = 0; n < count; n++) lane.add({ lease: n } as Held);
  return lane;
}

function startAll(lane: Lane, nowMs = NOW): number {
  let started = 0;
  while (lane.mayStart(nowMs)) {
    lane.take();
    lane.inFlight += 1;
    started += 1;
  }
  return started;
}

test('begins carefully and grows with success, up to its bound', () => {
  const lane = laneWith(100);
  expect(startAll(lane)).toBe(4);
  lane.inFlight = 0;
  for (let n = 0; n < 50; n++) lane.succeeded(2);
  expect(startAll(lane)).toBe(16);
});

test('gives out in order, however many have passed', () => {
  const lane = laneWith(0);
  let next = 0;
  for (let round = 0; round < 30; round++) {
    for (let n = 0; n < 20; n++) lane.add({ lease: round * 20 + n } as Held);
    for (let n = 0; n < 19; n++) expect(lane.take()?.lease).toBe(next++);
  }
  expect(lane.waiting).toBe(30);
  expect(lane.takeAll().map((held) => held.lease)).toEqual(
    Array.from({ length: 30 }, (_, n) => next + n),
  );
  expect(lane.take()).toBeUndefined();
});

test('slow failures shrink it, quick ones do not', () => {
  const slow = laneWith(100);
  slow.failed(15_000, NOW, undefined);
  slow.failed(15_000, NOW, undefined);
  expect(startAll(slow)).toBe(1);
  const quick = laneWith(100);
  quick.failed(5, NOW, undefined);
  quick.failed(5, NOW, undefined);
  expect(startAll(quick)).toBe(4);
});

test('one that only fails is asked no more often than every five seconds', () => {
  const lane = laneWith(100);
  for (let n = 0; n < 30; n++) lane.failed(5, NOW, undefined);
  expect(lane.mayStart(NOW + 4_999)).toBe(false);
  expect(lane.room(NOW + 4_999)).toBe(0);
  expect(startAll(lane, NOW + 5_000)).toBe(1);
});

test('a success ends its rest', () => {
  const lane = laneWith(100);
  for (let n = 0; n < 30; n++) lane.failed(5, NOW, undefined);
  lane.succeeded(5);
  expect(lane.mayStart(NOW)).toBe(true);
});

test('rests as long as it asks for, within reason', () => {
  const lane = laneWith(10);
  lane.failed(5, NOW, 60_000);
  expect(lane.mayStart(NOW + 59_999)).toBe(false);
  expect(lane.mayStart(NOW + 60_000)).toBe(true);
  lane.failed(5, NOW, 10 ** 9);
  expect(lane.mayStart(NOW + 600_000)).toBe(true);
});

test('holds about as much as it sends in two seconds', () => {
  const fast = laneWith(0);
  for (let n = 0; n < 100; n++) fast.succeeded(10);
  expect(fast.room(NOW)).toBe(500);
  const slow = laneWith(0);
  for (let n = 0; n < 100; n++) slow.succeeded(1_000);
  expect(slow.room(NOW)).toBe(33);
  for (let n = 0; n < 33; n++) slow.add({} as Held);
  expect(slow.room(NOW)).toBe(0);
});

test('a clock that is set back ends a rest instead of making it longer', () => {
  const lane = laneWith(100);
  for (let n = 0; n < 30; n++) lane.failed(5, NOW, 60_000);
  expect(lane.mayStart(NOW + 1_000)).toBe(false);
  expect(lane.mayStart(NOW - 3_600_000)).toBe(true);
  lane.failed(5, NOW - 3_600_000, undefined);
  expect(lane.mayStart(NOW - 3_600_000 + 4_999)).toBe(false);
  expect(lane.mayStart(NOW - 3_600_000 + 5_000)).toBe(true);
});
