import type { Time } from '../../src/index.ts';

/** Time that passes at once, and remembers what was waited for. */
export interface PlayedTime extends Time {
  waitsMs: number[];
}

export function fakeTime(random = 0): PlayedTime {
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
