import { expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { EndpointLimit } from './endpoint-limit.ts';
import { EndpointLimits } from './endpoint-limits.ts';

function newLimit() {
  const clock = new ManualClock(10_000_000);
  const woken: number[] = [];
  const onCapacity = () => woken.push(clock.now());
  return { clock, woken, limit: new EndpointLimit({ clock, limitMax: 16, onCapacity }) };
}

function startAll(limit: EndpointLimit): number {
  let started = 0;
  for (; limit.hasCapacity; started++) limit.acquire();
  return started;
}

test('starts low and grows with success, up to its maximum', () => {
  const { limit } = newLimit();
  expect(startAll(limit)).toBe(4);
  for (let n = 0; n < 50; n++) limit.succeeded(2);
  expect(startAll(limit)).toBe(12);
  expect(limit.inUse).toBe(16);
});

test('slow failures shrink the limit, quick ones do not', () => {
  const { limit: slow } = newLimit();
  slow.failed(15_000, undefined);
  slow.failed(15_000, undefined);
  expect(startAll(slow)).toBe(1);
  const { limit: quick } = newLimit();
  quick.failed(5, undefined);
  quick.failed(5, undefined);
  expect(startAll(quick)).toBe(4);
});

test('an endpoint that only fails is tried at most every five seconds', () => {
  const { limit, clock, woken } = newLimit();
  for (let n = 0; n < 30; n++) limit.failed(5, undefined);
  clock.advance(4_000);
  expect(limit.hasCapacity).toBe(false);
  expect(limit.leaseCapacity).toBe(0);
  expect(woken).toEqual([]);
  clock.advance(1_000);
  expect(woken).toHaveLength(1);
  expect(startAll(limit)).toBe(1);
});

test('a success ends the pause', () => {
  const { limit } = newLimit();
  for (let n = 0; n < 30; n++) limit.failed(5, undefined);
  limit.succeeded(5);
  expect(limit.hasCapacity).toBe(true);
});

test('pauses as long as Retry-After asks for, within bounds', () => {
  const { limit, clock } = newLimit();
  limit.failed(5, 60_000);
  clock.advance(59_999);
  expect(limit.hasCapacity).toBe(false);
  clock.advance(1);
  expect(limit.hasCapacity).toBe(true);
  limit.failed(5, 10 ** 9);
  clock.advance(600_000);
  expect(limit.hasCapacity).toBe(true);
});

test('holds about as much as is sent in two seconds, and little before the first success', () => {
  const { limit: unknown } = newLimit();
  expect(unknown.leaseCapacity).toBe(16);
  const { limit: fast } = newLimit();
  for (let n = 0; n < 100; n++) fast.succeeded(10);
  expect(fast.leaseCapacity).toBe(500);
  const { limit: slow } = newLimit();
  for (let n = 0; n < 100; n++) slow.succeeded(1_000);
  expect(slow.leaseCapacity).toBe(33);
  slow.waiting = 33;
  expect(slow.leaseCapacity).toBe(0);
});

test('a clock set back ends a pause instead of extending it', () => {
  const { limit, clock } = newLimit();
  for (let n = 0; n < 30; n++) limit.failed(5, 60_000);
  clock.advance(1_000);
  expect(limit.hasCapacity).toBe(false);
  clock.setBack(3_600_000);
  expect(limit.hasCapacity).toBe(true);
  limit.failed(5, undefined);
  clock.advance(4_999);
  expect(limit.hasCapacity).toBe(false);
  clock.advance(1);
  expect(limit.hasCapacity).toBe(true);
});

test('the limit of an endpoint that is no longer used is removed, unless it is busy', () => {
  const clock = new ManualClock(10_000_000);
  const limits = new EndpointLimits({ clock, perEndpointMax: 16, onCapacity: () => {} });
  limits.get('unused').failed(5, undefined);
  limits.get('busy').acquire();
  limits.get('waiting').waiting = 1;
  clock.advance(15 * 60_000);
  limits.removeOutdated();
  expect(limits.leaseCapacities().map(({ id }) => id)).toEqual(['busy', 'waiting']);
});
