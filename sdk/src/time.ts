/** Time and chance, as a test can play them. */
export interface Time {
  nowMs(): number;
  /** From 0 up to 1. */
  random(): number;
  /** An abort ends the wait at once, with the signal's reason as the error. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void>;
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
      }, delayMs);
      const aborted = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', aborted, { once: true });
    }),
};
