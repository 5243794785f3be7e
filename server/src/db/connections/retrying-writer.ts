import type { Log } from '../../lib/log.ts';
import { type Clock, pause } from '../../lib/time/clock.ts';
import { isTransientError } from './database-errors.ts';

/**
 * Retries writes until the database is available again, for results that exist only in memory.
 * `stalled` tells the owner not to start work whose result would have to wait too, which bounds the
 * number of waiting results.
 */
export class RetryingWriter {
  readonly #options: RetryingWriterOptions;
  readonly #stop = new AbortController();
  #stalled = 0;

  constructor(options: RetryingWriterOptions) {
    this.#options = options;
  }

  get stalled(): boolean {
    return this.#stalled > 0;
  }

  /**
   * Runs `write` until it succeeds. `isRetry` is true from the second attempt on: an earlier attempt
   * may have committed although its response was lost. Throws errors that a retry cannot overcome,
   * and WriterStoppedError.
   */
  async run<T>(count: number, write: (isRetry: boolean) => Promise<T>): Promise<T> {
    let delayMs = RETRY_MIN_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        const written = await write(attempt > 1);
        if (attempt > 1) this.#onRecovered(count);
        return written;
      } catch (error) {
        if (!isTransientError(error)) {
          if (attempt > 1) this.#onRecovered(0);
          throw error;
        }
        if (attempt === 1) this.#onStalled(error, count);
      }
      await pause(this.#options.clock, delayMs, this.#stop.signal);
      if (this.#stop.signal.aborted) {
        throw new WriterStoppedError('stopped before the database was available again');
      }
      delayMs = Math.min(delayMs * 2, RETRY_MAX_MS);
    }
  }

  /** Stops retrying after `deadlineMs`. Returns a function that cancels this. */
  abortAfter(deadlineMs: number): () => void {
    const timer = this.#options.clock.after(deadlineMs, () => this.#stop.abort());
    return () => timer.cancel();
  }

  #onStalled(error: unknown, count: number): void {
    const { log, what, onStalled } = this.#options;
    this.#stalled += 1;
    onStalled?.();
    log.warn({ err: error, results: count }, `database unavailable: ${what} are waiting`);
  }

  #onRecovered(count: number): void {
    const { log, what, onRecovered } = this.#options;
    this.#stalled -= 1;
    if (count > 0) log.info({ results: count }, `database available again: ${what} recorded`);
    if (!this.stalled) onRecovered();
  }
}

export interface RetryingWriterOptions {
  /** What is written, in the plural, for the log. */
  what: string;
  clock: Clock;
  log: Log;
  onStalled?: () => void;
  onRecovered: () => void;
}

export class WriterStoppedError extends Error {}

const RETRY_MIN_MS = 50;
/** Writes are retried at least this often: see OUTAGE_GRACE_MS in queue/claim-loop.ts. */
export const RETRY_MAX_MS = 1_000;
