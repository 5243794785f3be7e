/**
 * Time for the whole house. Domain code never asks the machine directly: it gets a Clock, so that a
 * test can move hours in a moment and every row carries the time its room believed in.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after `delayMs`. The timer never keeps the process alive by itself. */
  after(delayMs: number, task: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** setTimeout overflows to "at once" above this. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    const handle = setTimeout(task, Math.min(Math.max(0, delayMs), TIMEOUT_MAX_MS));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Waits `delayMs` on the given clock; an abort ends the wait early, without an error. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = clock.after(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
    function done(): void {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    }
  });
}
