import { type Clock, pause } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { isLostRace } from './lost-race.ts';
import { isStorageGone } from './storage-gone.ts';

/**
 * Writes that outlast the loss of the database: what is known only here stays here and is tried
 * again until it is written. `stalled` tells the owner to begin nothing whose result would have to
 * wait too, which bounds what waits.
 */
export class PatientWrites {
  readonly #parts: PatientWritesParts;
  readonly #stop = new AbortController();
  #stalled = 0;

  constructor(parts: PatientWritesParts) {
    this.#parts = parts;
  }

  get stalled(): boolean {
    return this.#stalled > 0;
  }

  /**
   * `write` is told whether it was tried before: the answer may have been lost after its commit.
   * Throws what is wrong with the write itself, and WritesStoppedError.
   */
  async outlast<T>(count: number, write: (again: boolean) => Promise<T>): Promise<T> {
    let waitMs = WAIT_MIN_MS;
    for (let tries = 1; ; tries++) {
      try {
        const written = await write(tries > 1);
        if (tries > 1) this.#recovered(count);
        return written;
      } catch (error) {
        if (!isPassing(error)) {
          if (tries > 1) this.#recovered(0);
          throw error;
        }
        if (tries === 1) this.#stall(error, count);
      }
      await pause(this.#parts.clock, waitMs, this.#stop.signal);
      if (this.#stop.signal.aborted)
        throw new WritesStoppedError('stopped before storage came back');
      waitMs = Math.min(waitMs * 2, WAIT_MAX_MS);
    }
  }

  /** From then on nothing is tried again. Returns how to take it back. */
  giveUpIn(deadlineMs: number): () => void {
    const timer = this.#parts.clock.after(deadlineMs, () => this.#stop.abort());
    return () => timer.cancel();
  }

  #stall(error: unknown, count: number): void {
    const { log, what, onStalled } = this.#parts;
    this.#stalled += 1;
    onStalled?.();
    log.warn({ err: error, results: count }, `${what} wait for storage`);
  }

  #recovered(count: number): void {
    const { log, what, onRecovered } = this.#parts;
    this.#stalled -= 1;
    if (count > 0) log.info({ results: count }, `storage is back: ${what} recorded`);
    if (!this.stalled) onRecovered();
  }
}

export interface PatientWritesParts {
  /** For the log: "… wait for storage". */
  what: string;
  clock: Clock;
  log: Log;
  onStalled?: () => void;
  onRecovered: () => void;
}

export class WritesStoppedError extends Error {}

const WAIT_MIN_MS = 50;
/** Results are tried again at least this often: see OUTAGE_GRACE_MS in delivery/claim-loop.ts. */
export const WAIT_MAX_MS = 1_000;

/** Nobody's fault, and gone the next time: no connection, a deadlock, a lock that took too long. */
export function isPassing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return isStorageGone(error) || isLostRace(error) || code === '55P03';
}
