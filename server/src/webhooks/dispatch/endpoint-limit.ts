import type { Clock } from '../../lib/time/clock.ts';
import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';

/**
 * The concurrency limit of one endpoint on this node. It starts low and grows with every success, so
 * that a fast receiver gets as much as it can take. Slow failures shrink it, and an endpoint that
 * only fails is tried at most every few seconds: dead endpoints cost the others next to nothing,
 * however large their backlog.
 */
export class EndpointLimit extends ConcurrencyLimit {
  /** Leased deliveries that wait in memory. */
  waiting = 0;
  /** When a delivery was last added. */
  usedAtMs = 0;
  readonly #clock: Clock;
  readonly #limitMax: number;
  readonly #onCapacity: () => void;
  #consecutiveFailures = 0;
  #pause = { fromMs: 0, untilMs: 0 };
  #wakeScheduled = false;
  /** How long a successful attempt takes; undefined before the first. */
  #typicalMs: number | undefined;

  constructor(parts: { clock: Clock; limitMax: number; onCapacity: () => void }) {
    super(Math.min(LIMIT_INITIAL, parts.limitMax));
    this.#clock = parts.clock;
    this.#limitMax = parts.limitMax;
    this.#onCapacity = parts.onCapacity;
  }

  override get hasCapacity(): boolean {
    if (!super.hasCapacity) return false;
    const nowMs = this.#clock.now();
    if (!this.#isPaused(nowMs)) return true;
    this.#scheduleWake(this.#pause.untilMs - nowMs);
    return false;
  }

  /** How many more deliveries are worth leasing: about as many as are sent in two seconds. */
  get leaseCapacity(): number {
    if (this.#isPaused(this.#clock.now())) return 0;
    return Math.max(0, this.#worthHolding() - this.waiting);
  }

  succeeded(durationMs: number): void {
    this.#consecutiveFailures = 0;
    this.#pause = { fromMs: 0, untilMs: 0 };
    const before = this.#typicalMs ?? TYPICAL_INITIAL_MS;
    this.#typicalMs = Math.max(1, before * 0.9 + durationMs * 0.1);
    if (this.limit < this.#limitMax) this.limit += 1;
  }

  failed(durationMs: number, retryAfterMs: number | undefined): void {
    const nowMs = this.#clock.now();
    this.#consecutiveFailures += 1;
    if (durationMs >= SLOW_MS) this.limit = Math.max(1, Math.floor(this.limit / 2));
    const over = this.#consecutiveFailures - FAILURES_BEFORE_PAUSE;
    const ownMs = over < 0 ? 0 : Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(over, 10));
    if (over >= 0) this.limit = 1;
    const restMs = Math.max(ownMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
    const untilMs = nowMs + restMs;
    if (this.#isPaused(nowMs) && untilMs < this.#pause.untilMs) return;
    this.#pause = { fromMs: nowMs, untilMs };
  }

  /** Unused for so long that the endpoint may be deleted and its history is outdated. */
  get isOutdated(): boolean {
    const nowMs = this.#clock.now();
    return this.#isIdle && !this.#isPaused(nowMs) && nowMs - this.usedAtMs >= UNUSED_MS;
  }

  /** The limit has no state that a new one would not have. */
  get isDisposable(): boolean {
    return this.#isIdle && this.#consecutiveFailures === 0;
  }

  get #isIdle(): boolean {
    return this.inUse === 0 && this.waiting === 0;
  }

  #worthHolding(): number {
    if (this.#consecutiveFailures > 0) return this.limit;
    if (this.#typicalMs === undefined) return LEASED_INITIAL;
    return Math.min(LEASED_MAX, Math.ceil((this.limit * LOOKAHEAD_MS) / this.#typicalMs));
  }

  /** After the clock was set back to before the pause began, the pause is over. */
  #isPaused(nowMs: number): boolean {
    return nowMs >= this.#pause.fromMs && nowMs < this.#pause.untilMs;
  }

  #scheduleWake(delayMs: number): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    // Bounded, because a success or a clock that is set back ends a pause early.
    this.#clock.after(Math.min(delayMs, PAUSE_MAX_MS), () => {
      this.#wakeScheduled = false;
      this.notifyWaiters();
      this.#onCapacity();
    });
  }
}

/** What is leased for an endpoint that has not succeeded yet. */
export const LEASED_INITIAL = 16;
const LIMIT_INITIAL = 4;
const TYPICAL_INITIAL_MS = 250;
const LOOKAHEAD_MS = 2_000;
const LEASED_MAX = 500;
/** A failure that took this long has blocked a slot that others could have used. */
const SLOW_MS = 1_000;
const FAILURES_BEFORE_PAUSE = 10;
const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 5_000;
const RETRY_AFTER_MAX_MS = 10 * 60_000;
const UNUSED_MS = 10 * 60_000;
