import { expect, test } from 'vitest';
import { ManualClock } from '../time/manual-clock.ts';
import { SpacedCall } from './spaced-call.ts';

test('the first request calls at once, and those within the interval share a call', () => {
  const clock = new ManualClock(0);
  let calls = 0;
  const spaced = new SpacedCall(clock, 100, () => {
    calls += 1;
  });
  spaced.request();
  expect(calls).toBe(1);
  for (let n = 0; n < 10; n++) spaced.request();
  clock.advance(99);
  expect(calls).toBe(1);
  clock.advance(1);
  expect(calls).toBe(2);
  clock.advance(1_000);
  expect(calls).toBe(2);
  spaced.request();
  expect(calls).toBe(3);
});

test('a clock that is set back does not delay a call', () => {
  const clock = new ManualClock(1_000_000);
  let calls = 0;
  const spaced = new SpacedCall(clock, 100, () => {
    calls += 1;
  });
  spaced.request();
  clock.setBack(500_000);
  spaced.request();
  clock.advance(100);
  expect(calls).toBe(2);
});
