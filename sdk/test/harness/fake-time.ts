import type { Time } from '../../src/index.ts';

/** A clock whose waits end immediately and are recorded. */
export interface FakeTime extends Time {
  waitsMs: number[];
}

export function fakeTime(random = 0): FakeTime {
  const waitsMs: number[] = [];
  let nowMs = Date.UTC(2026, 10, 15);
  return {
    waitsMs,
    nowMs: () => nowMs,
    random: () => random,
    async wait(delayMs, signal) {
      signal?.throwIfAborted();
      waitsMs.push(delayMs);
      nowMs += delayMs;
    },
  };
}
