import type { Clock } from '../lib/clock.ts';
import { ConcurrencyLimit } from '../queue/concurrency-limit.ts';
import type { SmtpConnectionPool } from './connection-pool.ts';
import type { Shaping } from './shaping.ts';

/**
 * One receiving system: all domains behind the same mail servers, or a relay. `concurrency` limits
 * its transactions in flight. The limit starts low, grows with each success and is halved when the
 * receiver throttles us, so that every receiver gets its own pace without configuration.
 */
export class Receiver {
  readonly concurrency: ReceiverLimit;
  readonly pools = new Map<string, SmtpConnectionPool>();
  readonly shaping: Shaping;
  lastUsedAtMs: number;
  readonly #clock: Clock;
  #throttledAtMs = Number.NEGATIVE_INFINITY;

  constructor(shaping: Shaping, clock: Clock, onOpen: () => void) {
    this.shaping = shaping;
    this.#clock = clock;
    this.concurrency = new ReceiverLimit(shaping, clock, onOpen);
    this.lastUsedAtMs = clock.now();
  }

  /** The receiver accepted a message, so the limit grows by one. */
  succeeded(): void {
    const { concurrency } = this;
    // An unused limit says nothing about how much the receiver can take.
    if (
      concurrency.limit >= transactionsMax(this.shaping) ||
      concurrency.inUse < concurrency.limit - 1
    )
      return;
    concurrency.limit += 1;
    concurrency.notifyWaiters();
  }

  /** The receiver asked for less (421, "too many connections"): halves the limit, after a pause. */
  throttled(): void {
    const nowMs = this.#clock.now();
    // Transactions in flight at the first such reply will get it as well; they count as one.
    const sinceMs = nowMs - this.#throttledAtMs;
    if (sinceMs >= 0 && sinceMs < THROTTLE_DEBOUNCE_MS) return;
    this.#throttledAtMs = nowMs;
    this.concurrency.limit = Math.max(1, Math.floor(this.concurrency.limit / 2));
    this.concurrency.pauseUntil(nowMs + PAUSE_MS);
  }
}

/** A limit that can also be blocked for a while, by a pause or by a rate. */
export class ReceiverLimit extends ConcurrencyLimit {
  readonly #clock: Clock;
  readonly #onCapacity: () => void;
  readonly #spacingMs: number;
  #blockedUntilMs = 0;
  #wakeScheduled = false;

  constructor(shaping: Shaping, clock: Clock, onOpen: () => void) {
    super(Math.min(TRANSACTIONS_INITIAL, transactionsMax(shaping)));
    this.#clock = clock;
    this.#onCapacity = onOpen;
    this.#spacingMs = shaping.messagesPerMinute === null ? 0 : 60_000 / shaping.messagesPerMinute;
  }

  override get hasCapacity(): boolean {
    if (this.inUse >= this.limit) return false;
    if (this.#blockedUntilMs === 0) return true;
    const nowMs = this.#clock.now();
    if (nowMs >= this.#blockedUntilMs) return true;
    // A longer block means that the clock was set back.
    const closedMsMax = Math.max(PAUSE_MS, this.#spacingMs);
    this.#blockedUntilMs = Math.min(this.#blockedUntilMs, nowMs + closedMsMax);
    this.#scheduleWake(this.#blockedUntilMs - nowMs);
    return false;
  }

  override acquire(): void {
    this.inUse += 1;
    if (this.#spacingMs > 0) {
      const nowMs = this.#clock.now();
      // A burst of one second is allowed: spacing single messages would only cost timers.
      this.#blockedUntilMs = Math.max(this.#blockedUntilMs, nowMs - BURST_MS) + this.#spacingMs;
    }
  }

  pauseUntil(ms: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, ms);
  }

  #scheduleWake(delayMs: number): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    this.#clock.after(delayMs, () => {
      this.#wakeScheduled = false;
      this.notifyWaiters();
      this.#onCapacity();
    });
  }
}

/** One message waiting for its reply and one envelope pipelined behind it: see SmtpConnection. */
const TRANSACTIONS_PER_CONNECTION = 2;
const TRANSACTIONS_INITIAL = 4;
const THROTTLE_DEBOUNCE_MS = 2_000;
const PAUSE_MS = 2_000;
const BURST_MS = 1_000;

function transactionsMax(shaping: Shaping): number {
  return shaping.connectionsMax * TRANSACTIONS_PER_CONNECTION;
}
