import { expect, test } from 'vitest';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { EventNotifier } from './event-notifier.ts';

test('wakes local subscribers on every publish, and other nodes at most once in 100 ms including the last', () => {
  const clock = new ManualClock(1_000_000);
  const notifiedAtMs: number[] = [];
  const notifier = new EventNotifier({
    clock,
    notifyNodes: async () => {
      notifiedAtMs.push(clock.now() - 1_000_000);
    },
  });
  let wakeUps = 0;
  notifier.subscribe(() => {
    wakeUps += 1;
  });
  for (let n = 0; n < 25; n++) {
    notifier.publish();
    clock.advance(10);
  }
  clock.advance(1_000);
  expect(wakeUps).toBe(25);
  expect(notifier.publishedCount).toBe(25);
  expect(notifiedAtMs).toEqual([0, 100, 200, 300]);
});

test('wakes on a notification from another node, but not on its own', () => {
  const clock = new ManualClock(0);
  let self = '';
  const notifier = new EventNotifier({
    clock,
    notifyNodes: async (from) => {
      self = from;
    },
  });
  notifier.publish();
  let wakeUps = 0;
  const stop = notifier.subscribe(() => {
    wakeUps += 1;
  });
  notifier.receive(self);
  expect(wakeUps).toBe(0);
  notifier.receive('another');
  expect(wakeUps).toBe(1);
  stop();
  notifier.receive('another');
  expect(wakeUps).toBe(1);
});
