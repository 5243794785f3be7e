import { expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { ReadyLimit } from './ready-limit.ts';

function readyLimit() {
  const clock = new ManualClock(5_000);
  let alone = false;
  const limit = new ReadyLimit({ clock, min: 100, max: 2_000, isAlone: () => alone });
  let finished = 0;
  /** What the limit is after a second in which so many deliveries were finished. */
  const after = (count: number, ms = 1_000): number => {
    finished += count;
    clock.advance(ms);
    limit.update(finished);
    return limit.current;
  };
  return { limit, after, setAlone: (value: boolean) => (alone = value) };
}

test('beside other nodes, the limit follows the pace', () => {
  const { limit, after } = readyLimit();
  expect(limit.current).toBe(100);
  expect(after(5)).toBe(100);
  expect(after(50)).toBe(150);
  expect(after(50, 500)).toBe(300);
  expect(after(5_000)).toBe(2_000);
});

test('a node that is alone may hold the maximum', () => {
  const { after, setAlone } = readyLimit();
  setAlone(true);
  expect(after(0)).toBe(2_000);
  setAlone(false);
  expect(after(50)).toBe(1_000);
});

test('the limit shrinks step by step to its minimum', () => {
  const { after } = readyLimit();
  after(200);
  expect([after(0), after(0), after(0), after(0)]).toEqual([300, 150, 100, 100]);
});

test('without time between two measurements the pace is unknown', () => {
  const { after } = readyLimit();
  after(100);
  expect(after(50, 0)).toBe(150);
});
