/**
 * The source of time. Code never reads the system clock directly but gets a Clock, so that tests can
 * advance it by hours.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, task: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** setTimeout fires immediately for larger delays. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    const handle = setTimeout(task, Math.min(Math.max(0, delayMs), TIMEOUT_MAX_MS));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Waits for `delayMs`; an abort ends the wait early, without an error. */
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
