import { expect, test } from 'vitest';
import { nextAttemptDelayMs } from './retry-policy.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const BACKOFF = { minMs: MINUTE, maxMs: 4 * HOUR };

function waits(mode: 'live' | 'test', windowMs: number): number[] {
  const all: number[] = [];
  let cycleAgeMs = 0;
  while (cycleAgeMs < windowMs) {
    const wait = nextAttemptDelayMs(
      { mode, cycleAgeMs: cycleAgeMs, attempts: all.length + 1 },
      BACKOFF,
      0.5,
    );
    all.push(wait);
    cycleAgeMs += wait;
  }
  return all;
}

test('starts at a minute, doubles, and levels off at hours: about 25 attempts in 72 hours', () => {
  const live = waits('live', 72 * HOUR);
  expect(live.slice(0, 5)).toEqual([MINUTE, MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE]);
  expect(live.at(-1)).toBe(4 * HOUR);
  expect(live.length).toBeGreaterThan(20);
  expect(live.length).toBeLessThan(30);
});

test('spreads messages that failed together', () => {
  const at = { mode: 'live' as const, cycleAgeMs: 10 * MINUTE, attempts: 4 };
  expect(nextAttemptDelayMs(at, BACKOFF, 0)).toBe(8 * MINUTE);
  expect(nextAttemptDelayMs(at, BACKOFF, 0.999)).toBeCloseTo(12 * MINUTE, -4);
});

test('simulated delays are one to two seconds, but a recipient that never accepts slows down', () => {
  const simulated = waits('test', 72 * HOUR);
  for (const wait of simulated.slice(0, 9)) {
    expect(wait).toBeGreaterThanOrEqual(1000);
    expect(wait).toBeLessThanOrEqual(2000);
  }
  expect(simulated.length).toBeLessThan(45);
});
