import type { Clock } from '../../lib/time/clock.ts';
import type { IdRange } from '../../messages/deliveries/claim-store.ts';

/** The range of ids that contains all unfinished rows, read again from time to time. */
export class UnfinishedRange {
  readonly #find: (nowMs: number) => Promise<IdRange>;
  readonly #clock: Clock;
  #range: IdRange = { oldest: '', newest: '' };
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(find: (nowMs: number) => Promise<IdRange>, clock: Clock) {
    this.#find = find;
    this.#clock = clock;
  }

  get current(): IdRange {
    return this.#range;
  }

  async refresh(): Promise<void> {
    const nowMs = this.#clock.now();
    if (nowMs - this.#readAtMs < MAX_AGE_MS) return;
    this.#range = await this.#find(nowMs);
    this.#readAtMs = nowMs;
  }

  /** Rows became due, possibly old ones that are retried. */
  notifyDue(): void {
    const notifiedMs = this.#clock.now() - MAX_AGE_MS + MAX_AGE_NOTIFIED_MS;
    this.#readAtMs = Math.min(this.#readAtMs, notifiedMs);
  }

  /** Reads the range now, to find out whether the database is available. */
  async probe(): Promise<void> {
    await this.#find(this.#clock.now());
  }
}

/** How long the range is reused, without and with a notification of due rows. */
const MAX_AGE_MS = 60_000;
const MAX_AGE_NOTIFIED_MS = 500;
