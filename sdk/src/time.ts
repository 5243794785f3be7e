/** Clock, timers and randomness, replaceable in tests. */
export interface Time {
  nowMs(): number;
  /** In [0, 1). */
  random(): number;
  /** An abort ends the wait immediately and rejects with the signal's reason. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Longer delays overflow and fire immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Clamps a delay to what a timer accepts: `Infinity` becomes about 25 days. */
export function timerMs(delayMs: number): number {
  return Math.min(delayMs, LONGEST_TIMER_MS);
}

export const systemTime: Time = {
  nowMs: () => Date.now(),
  random: () => Math.random(),
  wait: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', aborted);
        resolve();
      }, timerMs(delayMs));
      const aborted = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', aborted, { once: true });
    }),
};
