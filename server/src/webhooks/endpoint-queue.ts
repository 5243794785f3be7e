import type { LeasedRow } from './fan-out-store.ts';

/** A delivery that this node has leased. */
export interface LeasedDelivery {
  row: LeasedRow;
  lease: number;
  leaseEndsAtMs: number;
}

/**
 * One endpoint's queue on this node: its waiting deliveries, its attempts in flight, and its
 * concurrency limit. The limit starts low and grows with every success, so that a fast receiver
 * gets as much as it can take. Slow failures shrink it, and an endpoint that only fails is tried at
 * most every few seconds: dead endpoints cost the others next to nothing, however large their
 * backlog.
 */
export class EndpointQueue {
  readonly webhookId: string;
  readonly #limitMax: number;
  #ready: LeasedDelivery[] = [];
  #head = 0;
  inFlight = 0;
  /** When a delivery was last added. */
  usedAtMs = 0;
  #limit: number;
  #consecutiveFailures = 0;
  #pause = { fromMs: 0, untilMs: 0 };
  #typicalMs = TYPICAL_INITIAL_MS;

  constructor(webhookId: string, limitMax: number) {
    this.webhookId = webhookId;
    this.#limitMax = limitMax;
    this.#limit = Math.min(LIMIT_INITIAL, limitMax);
  }

  get waiting(): number {
    return this.#ready.length - this.#head;
  }

  /** The workspace of the endpoint, while deliveries wait. */
  get workspaceId(): string | undefined {
    return this.#ready[this.#head]?.row.workspace_id;
  }

  mayStart(nowMs: number): boolean {
    return this.waiting > 0 && this.inFlight < this.#limit && !this.#isPaused(nowMs);
  }

  /** How many more deliveries are worth leasing: about as many as are sent in two seconds. */
  capacity(nowMs: number): number {
    if (this.#isPaused(nowMs)) return 0;
    const ahead = Math.ceil((this.#limit * LOOKAHEAD_MS) / this.#typicalMs);
    const wanted = this.#consecutiveFailures > 0 ? this.#limit : Math.min(QUEUED_MAX, ahead);
    return Math.max(0, wanted - this.waiting);
  }

  add(held: LeasedDelivery): void {
    this.#ready.push(held);
  }

  take(): LeasedDelivery | undefined {
    const held = this.#ready[this.#head];
    if (!held) return undefined;
    this.#head += 1;
    if (this.#head > 64 && this.#head * 2 > this.#ready.length) {
      this.#ready = this.#ready.slice(this.#head);
      this.#head = 0;
    }
    return held;
  }

  takeAll(): LeasedDelivery[] {
    const all = this.#ready.slice(this.#head);
    this.#ready = [];
    this.#head = 0;
    return all;
  }

  succeeded(durationMs: number): void {
    this.#consecutiveFailures = 0;
    this.#pause = { fromMs: 0, untilMs: 0 };
    this.#typicalMs = Math.max(1, this.#typicalMs * 0.9 + durationMs * 0.1);
    if (this.#limit < this.#limitMax) this.#limit += 1;
  }

  failed(durationMs: number, nowMs: number, retryAfterMs: number | undefined): void {
    this.#consecutiveFailures += 1;
    if (durationMs >= SLOW_MS) this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    const over = this.#consecutiveFailures - FAILURES_BEFORE_PAUSE;
    const ownMs = over < 0 ? 0 : Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(over, 10));
    if (over >= 0) this.#limit = 1;
    const restMs = Math.max(ownMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
    const untilMs = nowMs + restMs;
    if (this.#isPaused(nowMs) && untilMs < this.#pause.untilMs) return;
    this.#pause = { fromMs: nowMs, untilMs };
  }

  /** Unused for so long that the endpoint may be deleted and its history is outdated. */
  isUnused(nowMs: number): boolean {
    if (this.inFlight > 0 || this.waiting > 0 || this.#isPaused(nowMs)) return false;
    return nowMs - this.usedAtMs >= UNUSED_MS;
  }

  /** After the clock was set back to before the pause began, the pause is over. */
  #isPaused(nowMs: number): boolean {
    return nowMs >= this.#pause.fromMs && nowMs < this.#pause.untilMs;
  }

  /** The queue has no state that a new one would not have. */
  get isDisposable(): boolean {
    return this.inFlight === 0 && this.waiting === 0 && this.#consecutiveFailures === 0;
  }
}

const LIMIT_INITIAL = 4;
const TYPICAL_INITIAL_MS = 250;
const LOOKAHEAD_MS = 2_000;
const QUEUED_MAX = 500;
/** A failure that took this long has blocked a slot that others could have used. */
const SLOW_MS = 1_000;
const FAILURES_BEFORE_PAUSE = 10;
const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 5_000;
const RETRY_AFTER_MAX_MS = 10 * 60_000;
const UNUSED_MS = 10 * 60_000;
