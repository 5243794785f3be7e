import type { Log } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { isDiskFull } from './database-errors.ts';

/**
 * An outage of the database as HTTP requests and SMTP messages see it. The first refusal is logged with
 * its error and the rest are counted, because under load every one of thousands would repeat the same
 * stack. The end is logged with the count.
 */
export class StorageOutage {
  readonly #clock: Clock;
  readonly #log: Log;
  #diskFullAtMs = -Infinity;
  #current: { sinceMs: number; lastMs: number; refused: number } | undefined;

  constructor(parts: { clock: Clock; log: Log }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Something was refused because its data could not be read or stored. `fields` say what. */
  refused(error: unknown, fields: object): void {
    const nowMs = this.#clock.now();
    if (isDiskFull(error)) this.#diskFullAtMs = nowMs;
    if (this.#current) {
      this.#current.refused += 1;
      this.#current.lastMs = nowMs;
      return;
    }
    this.#current = { sinceMs: nowMs, lastMs: nowMs, refused: 1 };
    this.#log.warn({ ...fields, err: error }, 'database unavailable');
  }

  /** Something was stored. The outage ends unless something was refused just now. */
  stored(): void {
    if (!this.#current || this.#clock.now() - this.#current.lastMs < QUIET_MS) return;
    const { sinceMs, lastMs, refused } = this.#current;
    this.#current = undefined;
    const seconds = Math.round((lastMs - sinceMs) / 1000);
    this.#log.warn({ refused, seconds }, 'database available again');
  }

  /** On a full disk, small changes may still succeed while messages cannot be stored. */
  get diskIsFull(): boolean {
    return this.#clock.now() - this.#diskFullAtMs < QUIET_MS;
  }
}

/** Some requests may succeed during an outage; it has ended when none was refused for this long. */
const QUIET_MS = 5_000;
