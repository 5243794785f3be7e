import { expect, test } from 'vitest';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { WebhookThrottle } from './webhook-throttle.ts';

function paceWith(state: { busy: number; commitsEach100Ms: number }) {
  const clock = new ManualClock(1_000_000);
  let commits = 0;
  const throttle = new WebhookThrottle({
    clock,
    mailCommits: () => commits,
    busy: () => state.busy,
  });
  return {
    throttle,
    clock,
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 100) {
        commits += state.commitsEach100Ms;
        clock.advance(100);
        throttle.throttled;
      }
    },
  };
}

function taken(throttle: WebhookThrottle, most = 1_000): number {
  let count = 0;
  while (count < most && throttle.tryAcquire()) count += 1;
  return count;
}

test('does not throttle while the process has idle time or no mail', () => {
  for (const state of [
    { busy: 0.5, commitsEach100Ms: 50 },
    { busy: 1, commitsEach100Ms: 0 },
  ]) {
    const { throttle, pass } = paceWith(state);
    pass(500);
    expect(taken(throttle)).toBe(1_000);
  }
});

test('while busy with mail, allows seven attempts per hundred events', () => {
  const { throttle, pass } = paceWith({ busy: 1, commitsEach100Ms: 50 });
  pass(500);
  taken(throttle);
  throttle.addEvents(500);
  expect(taken(throttle)).toBe(35);
  expect(taken(throttle)).toBe(0);
});

test('always allows a minimum rate', () => {
  const { throttle, pass } = paceWith({ busy: 1, commitsEach100Ms: 50 });
  pass(500);
  taken(throttle);
  pass(1_000);
  expect(taken(throttle)).toBe(10);
});

test('unused tokens are capped', () => {
  const { throttle, pass } = paceWith({ busy: 1, commitsEach100Ms: 50 });
  pass(500);
  throttle.addEvents(1_000_000);
  expect(taken(throttle)).toBeLessThanOrEqual(101);
});

test('a clock set back does not extend throttling', () => {
  const state = { busy: 1, commitsEach100Ms: 50 };
  const { throttle, clock, pass } = paceWith(state);
  pass(500);
  throttle.tryAcquire();
  clock.setBack(3_600_000);
  throttle.tryAcquire();
  state.busy = 0;
  pass(500);
  expect(taken(throttle)).toBe(1_000);
  state.busy = 1;
  pass(500);
  taken(throttle);
  pass(1_000);
  expect(taken(throttle)).toBeGreaterThanOrEqual(10);
});
