import type { Clock } from '../lib/clock.ts';
import { ConcurrencyLimit } from './delivery.ts';
import type { SmtpConnectionPool } from './connection-pool.ts';
import { notifyWaiters } from './ready-queue.ts';
import type { Shaping } from './shaping.ts';

/**
 * One receiving system: all domains behind the same mail servers, or a relay. Its gate says how many
 * transactions may be on the wire. The limit starts low, grows with each success and is halved when
 * the receiver asks for less, so that every receiver gets the pace it likes without being told.
 */
export class Receiver {
  readonly gate: ReceiverLimit;
  readonly pools = new Map<string, SmtpConnectionPool>();
  readonly shaping: Shaping;
  lastUsedAtMs: number;
  readonly #clock: Clock;
  #throttledAtMs = Number.NEGATIVE_INFINITY;

  constructor(shaping: Shaping, clock: Clock, onOpen: () => void) {
    this.shaping = shaping;
    this.#clock = clock;
    this.gate = new ReceiverLimit(shaping, clock, onOpen);
    this.lastUsedAtMs = clock.now();
  }

  /** It took a message: a little more may go there at a time. */
  succeeded(): void {
    const { gate } = this;
    // A limit that is not used says nothing about what the receiver would bear.
    if (gate.limit >= transactionsMax(this.shaping) || gate.inUse < gate.limit - 1) return;
    gate.limit += 1;
    notifyWaiters(gate);
  }

  /** It asked for less (421, "too many connections"): half as much, after a pause. */
  throttled(): void {
    const nowMs = this.#clock.now();
    // What is on the wire when the first complaint comes will complain too: it is one request.
    const sinceMs = nowMs - this.#throttledAtMs;
    if (sinceMs >= 0 && sinceMs < THROTTLE_DEBOUNCE_MS) return;
    this.#throttledAtMs = nowMs;
    this.gate.limit = Math.max(1, Math.floor(this.gate.limit / 2));
    this.gate.pauseUntil(nowMs + PAUSE_MS);
  }
}

/** A gate that can also be closed for a while, by a pause or by a rate. */
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
    // It never closes for longer: then the clock was set back.
    const closedMsMax = Math.max(PAUSE_MS, this.#spacingMs);
    this.#blockedUntilMs = Math.min(this.#blockedUntilMs, nowMs + closedMsMax);
    this.#scheduleWake(this.#blockedUntilMs - nowMs);
    return false;
  }

  override acquire(): void {
    this.inUse += 1;
    if (this.#spacingMs > 0) {
      const nowMs = this.#clock.now();
      // A second's worth may go at once: spacing each message by itself would only cost timers.
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
      notifyWaiters(this);
      this.#onCapacity();
    });
  }
}

/** One message on its way to its answer and one envelope behind it: see SmtpConnection. */
const TRANSACTIONS_PER_CONNECTION = 2;
const TRANSACTIONS_INITIAL = 4;
const THROTTLE_DEBOUNCE_MS = 2_000;
const PAUSE_MS = 2_000;
const BURST_MS = 1_000;

function transactionsMax(shaping: Shaping): number {
  return shaping.connectionsMax * TRANSACTIONS_PER_CONNECTION;
}
