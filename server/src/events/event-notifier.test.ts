import { expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import { LedgerBell } from './event-notifier.ts';

test('followers here hear every ring, other nodes at most one in 100 ms and the last one surely', () => {
  const clock = new ManualClock(1_000_000);
  const announced: number[] = [];
  const bell = new LedgerBell({
    clock,
    announce: async () => {
      announced.push(clock.now() - 1_000_000);
    },
  });
  let heard = 0;
  bell.onRing(() => {
    heard += 1;
  });
  for (let n = 0; n < 25; n++) {
    bell.ring();
    clock.advance(10);
  }
  clock.advance(1_000);
  expect(heard).toBe(25);
  expect(bell.rings).toBe(25);
  expect(announced).toEqual([0, 100, 200, 300]);
});

test('a notice of another node wakes, our own that came back does not', () => {
  const clock = new ManualClock(0);
  let self = '';
  const bell = new LedgerBell({
    clock,
    announce: async (from) => {
      self = from;
    },
  });
  bell.ring();
  let heard = 0;
  const stop = bell.onRing(() => {
    heard += 1;
  });
  bell.heard(self);
  expect(heard).toBe(0);
  bell.heard('another');
  expect(heard).toBe(1);
  stop();
  bell.heard('another');
  expect(heard).toBe(1);
});
