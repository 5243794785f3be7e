import type { Clock } from '../../lib/time/clock.ts';
import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { SmtpConnectionPool } from '../transport/connection-pool.ts';
import type { Shaping } from './shaping.ts';

export interface ReceiverOptions {
  /** The provider, the most-preferred mail servers, or the relay. */
  name: string;
  shaping: Shaping;
  clock: Clock;
  /** A paused limit has capacity again. */
  onCapacity: () => void;
  /** The receiver throttles us, or does so no longer. */
  onThrottleChange?: (throttle: Throttle) => void;
}

/** How a receiver limits us. Stored when it changes, so that a restart does not start over. */
export interface Throttle {
  /** The name of the receiver. */
  receiver: string;
  /** Throttling replies in a row, less the successes since; 0: no throttle. */
  level: number;
  pausedUntilMs: number;
}

/**
 * One receiving system: a provider, all domains behind the same mail servers, or a relay.
 * `concurrency` limits its transactions in flight. The limit starts low, grows with each success and
 * is halved when the receiver throttles us, so that every receiver gets its own pace without
 * configuration. Each throttling reply also pauses the receiver, for longer and longer while
 * nothing succeeds in between; each success takes back one step before the limit grows again.
 */
export class Receiver {
  readonly name: string;
  readonly concurrency: ReceiverLimit;
  readonly pools = new Map<string, SmtpConnectionPool>();
  readonly shaping: Shaping;
  lastUsedAtMs: number;
  /** Another object has taken its place, or will. */
  isRemoved = false;
  readonly #clock: Clock;
  readonly #onThrottleChange: ReceiverOptions['onThrottleChange'];
  #transactionsMax: number;
  #throttledAtMs = Number.NEGATIVE_INFINITY;
  #level = 0;

  constructor({ name, shaping, clock, onCapacity, onThrottleChange }: ReceiverOptions) {
    this.name = name;
    this.shaping = shaping;
    this.#clock = clock;
    this.#onThrottleChange = onThrottleChange;
    this.#transactionsMax = shaping.connectionsMax * TRANSACTIONS_PER_CONNECTION;
    this.concurrency = new ReceiverLimit(
      Math.min(TRANSACTIONS_INITIAL, this.#transactionsMax),
      shaping,
      clock,
      onCapacity,
    );
    this.lastUsedAtMs = clock.now();
  }

  /** For people: the provider, or one of the mail servers. */
  get displayName(): string {
    const [first = this.name, relay] = this.name.split(' ');
    if (this.shaping.provider !== null) return this.name;
    return first === 'relay' && relay !== undefined ? `The relay ${relay}` : first;
  }

  get throttle(): Throttle {
    const { pausedUntilMs } = this.concurrency;
    return { receiver: this.name, level: this.#level, pausedUntilMs };
  }

  /** Whether mail can use a connection that is already open. */
  get isConnected(): boolean {
    for (const pool of this.pools.values()) if (pool.isConnected) return true;
    return false;
  }

  /** Continues a throttle of an earlier process. */
  resumeThrottle({ level, pausedUntilMs }: Throttle): void {
    if (this.#level > 0 || level < 1) return;
    this.#level = Math.min(level, LEVEL_MAX);
    this.concurrency.limit = 1;
    const leftMs = Math.min(pausedUntilMs - this.#clock.now(), pauseMs(this.#level));
    if (leftMs > 0) this.concurrency.pauseFor(leftMs);
  }

  /** A connection was opened that takes this many messages at a time. */
  connected(depth: number): void {
    const transactions = Math.max(depth, TRANSACTIONS_PER_CONNECTION);
    this.#transactionsMax = this.shaping.connectionsMax * transactions;
  }

  /** The receiver accepted a message: one step less of the throttle, or one more at a time. */
  succeeded(): void {
    const { concurrency } = this;
    if (this.#level > 0) {
      // Messages that were in flight when the receiver throttled us prove nothing.
      if (concurrency.isPaused) return;
      this.#level -= 1;
      if (this.#level === 0) this.#onThrottleChange?.(this.throttle);
      return;
    }
    // An unused limit says nothing about how much the receiver can take.
    if (concurrency.limit >= this.#transactionsMax || concurrency.inUse < concurrency.limit - 1)
      return;
    concurrency.limit += 1;
    concurrency.notifyWaiters();
  }

  /**
   * The receiver asked for less (421, "too many connections") in an attempt that began at
   * `startedAtMs`: halves the limit, after a pause.
   */
  throttled(startedAtMs: number): void {
    const nowMs = this.#clock.now();
    // Attempts in flight at the first such reply will get it as well; they count as one.
    const known = startedAtMs <= this.#throttledAtMs && nowMs >= this.#throttledAtMs;
    if (known || this.concurrency.isPaused) return;
    this.#throttledAtMs = nowMs;
    this.#level = Math.min(this.#level + 1, LEVEL_MAX);
    this.concurrency.limit = Math.max(1, Math.floor(this.concurrency.limit / 2));
    this.concurrency.pauseFor(pauseMs(this.#level));
    this.#onThrottleChange?.(this.throttle);
  }
}

/** A limit that can also be blocked for a while, by a pause or by a rate. */
class ReceiverLimit extends ConcurrencyLimit {
  readonly #clock: Clock;
  readonly #onCapacity: () => void;
  readonly #spacingMs: number;
  #blockedUntilMs = 0;
  #blockMsMax: number;
  #pausedUntilMs = 0;
  #wakeScheduled = false;

  constructor(limit: number, shaping: Shaping, clock: Clock, onCapacity: () => void) {
    super(limit);
    this.#clock = clock;
    this.#onCapacity = onCapacity;
    this.#spacingMs = shaping.messagesPerMinute === null ? 0 : 60_000 / shaping.messagesPerMinute;
    this.#blockMsMax = this.#spacingMs;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get isPaused(): boolean {
    return this.#clock.now() < this.#pausedUntilMs;
  }

  override get hasCapacity(): boolean {
    if (this.inUse >= this.limit) return false;
    if (this.#blockedUntilMs === 0) return true;
    const nowMs = this.#clock.now();
    if (nowMs >= this.#blockedUntilMs) return true;
    // A longer block means that the clock was set back.
    const latestMs = nowMs + this.#blockMsMax;
    this.#blockedUntilMs = Math.min(this.#blockedUntilMs, latestMs);
    this.#pausedUntilMs = Math.min(this.#pausedUntilMs, latestMs);
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

  pauseFor(ms: number): void {
    this.#pausedUntilMs = this.#clock.now() + ms;
    this.#blockMsMax = Math.max(this.#spacingMs, ms);
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, this.#pausedUntilMs);
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

/**
 * One message waiting for its reply and one envelope pipelined behind it, until a connection shows that
 * the receiver takes more: see SmtpConnection.
 */
const TRANSACTIONS_PER_CONNECTION = 2;
const TRANSACTIONS_INITIAL = 4;
const BURST_MS = 1_000;

/**
 * 2 s, 6 s, 18 s, … up to 10 minutes. Providers that limit by the hour (Gmail's 4.7.28, Yahoo's
 * TSS04) get six attempts an hour, and a passing limit on connections costs two seconds.
 */
const PAUSE_FIRST_MS = 2_000;
const PAUSE_MAX_MS = 10 * 60_000;
const LEVEL_MAX = 7;

function pauseMs(level: number): number {
  return Math.min(PAUSE_FIRST_MS * 3 ** (level - 1), PAUSE_MAX_MS);
}
