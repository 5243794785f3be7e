/** Time and chance, as a test can play them. */
export interface Time {
  nowMs(): number;
  /** From 0 up to 1. */
  random(): number;
  /** An abort ends the wait at once, with the signal's reason as the error. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** A timer that is set to more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What a timer can be set to: `Infinity` becomes more than three weeks, which nobody waits for. */
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
