import { expect, test } from 'vitest';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { RateLimiter } from './rate-limit.ts';

function limiter(perSecond: number, burst: number) {
  const clock = new ManualClock(1_000_000);
  return { clock, limiter: new RateLimiter(perSecond, burst, clock) };
}

test('allows a burst, then rejects with the time to wait', () => {
  const { limiter: limits } = limiter(2, 3);
  const decisions = [1, 2, 3, 4].map(() => limits.take('w'));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
  expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0]);
  expect(decisions[3]?.retryAfterSeconds).toBe(1);
});

test('refills at the configured rate, up to the burst', () => {
  const { clock, limiter: limits } = limiter(2, 3);
  for (let n = 0; n < 3; n++) limits.take('w');
  clock.advance(500);
  expect([limits.take('w').allowed, limits.take('w').allowed]).toEqual([true, false]);
  clock.advance(60_000);
  expect(limits.take('w').remaining).toBe(2);
});

test('a batch larger than the burst delays later requests until it is paid for', () => {
  const { clock, limiter: limits } = limiter(2, 4);
  expect(limits.take('w').allowed).toBe(true);
  expect(limits.charge('w', 9)).toMatchObject({
    allowed: true,
    remaining: 0,
    retryAfterSeconds: 4,
  });
  clock.advance(3_000);
  expect(limits.take('w')).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 1 });
  clock.advance(500);
  expect(limits.take('w').allowed).toBe(true);
});

test('those who wait get their turns in order, at the rate, and not too many or too long', async () => {
  const { clock, limiter: limits } = limiter(2, 4);
  limits.charge('w', 13);
  const turns: number[] = [];
  const start = (n: number) => limits.waitForTurn('w')?.then(() => turns.push(n));
  expect([1, 2, 3].map((n) => start(n) !== undefined)).toEqual([true, true, true]);
  expect(limits.take('w').allowed).toBe(false);
  for (const [advanceMs, expected] of [
    [4_999, []],
    [1, [1]],
    [500, [1, 2]],
    [500, [1, 2, 3]],
  ] as const) {
    clock.advance(advanceMs);
    await Promise.resolve().then(() => undefined);
    await Promise.resolve();
    expect(turns).toEqual(expected);
  }
  expect(Array.from({ length: 17 }, (_, n) => start(n) !== undefined)).toEqual([
    ...Array(16).fill(true),
    false,
  ]);
  limits.charge('other', 60);
  expect(limits.waitForTurn('other')).toBeUndefined();
});

test('rounds the wait up to whole seconds', () => {
  const { limiter: limits } = limiter(0.25, 1);
  limits.take('w');
  expect(limits.take('w')).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 4 });
});

test('counts workspaces separately, and ignores a clock that goes back', () => {
  const { clock, limiter: limits } = limiter(1, 1);
  expect(limits.take('a').allowed).toBe(true);
  expect(limits.take('b').allowed).toBe(true);
  clock.advance(-10_000);
  expect(limits.take('a').allowed).toBe(false);
});

test('a rate of its own replaces the usual one, and can change', () => {
  const clock = new ManualClock(1_000_000);
  let own: number | undefined = 1;
  const limits = new RateLimiter(100, 200, clock, (id) => (id === 'w' ? own : undefined));
  expect(limits.limitOf('w')).toEqual({ perSecond: 1, burst: 2 });
  const allowed = () => [1, 2, 3].map(() => limits.take('w').allowed);
  expect(allowed()).toEqual([true, true, false]);
  expect(limits.take('other').remaining).toBe(199);
  clock.advance(1_000);
  expect(allowed()).toEqual([true, false, false]);
  own = undefined;
  clock.advance(1_000);
  expect(limits.take('w').remaining).toBe(99);
});
