import { expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import { EventNotifier } from './event-notifier.ts';

test('wakes local subscribers on every publish, and other nodes at most once in 100 ms including the last', () => {
  const clock = new ManualClock(1_000_000);
  const announced: number[] = [];
  const bell = new EventNotifier({
    clock,
    notifyNodes: async () => {
      announced.push(clock.now() - 1_000_000);
    },
  });
  let heard = 0;
  bell.subscribe(() => {
    heard += 1;
  });
  for (let n = 0; n < 25; n++) {
    bell.publish();
    clock.advance(10);
  }
  clock.advance(1_000);
  expect(heard).toBe(25);
  expect(bell.publishedCount).toBe(25);
  expect(announced).toEqual([0, 100, 200, 300]);
});

test('wakes on a notification from another node, but not on its own', () => {
  const clock = new ManualClock(0);
  let self = '';
  const bell = new EventNotifier({
    clock,
    notifyNodes: async (from) => {
      self = from;
    },
  });
  bell.publish();
  let heard = 0;
  const stop = bell.subscribe(() => {
    heard += 1;
  });
  bell.receive(self);
  expect(heard).toBe(0);
  bell.receive('another');
  expect(heard).toBe(1);
  stop();
  bell.receive('another');
  expect(heard).toBe(1);
});
