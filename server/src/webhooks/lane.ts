import type { LeasedRow } from './fan-out-store.ts';

/** A delivery in this node's hands. */
export interface Held {
  row: LeasedRow;
  lease: number;
  leaseEndsAtMs: number;
}

/**
 * One endpoint's place in this node: what waits, what is on the wire, and how much it may be sent at
 * once. It begins carefully and grows with every success, so that a fast receiver is sent as much as
 * it takes. One that is slow to fail shrinks, and one that only fails is asked no more often than
 * every few seconds: dead endpoints take next to nothing from the living, however much waits for them.
 */
export class Lane {
  readonly webhookId: string;
  readonly #limitMax: number;
  #ready: Held[] = [];
  #head = 0;
  inFlight = 0;
  /** When something last came for it. */
  usedAtMs = 0;
  #limit: number;
  #failuresInARow = 0;
  #rest = { fromMs: 0, untilMs: 0 };
  #usualMs = USUAL_START_MS;

  constructor(webhookId: string, limitMax: number) {
    this.webhookId = webhookId;
    this.#limitMax = limitMax;
    this.#limit = Math.min(LIMIT_START, limitMax);
  }

  get waiting(): number {
    return this.#ready.length - this.#head;
  }

  /** Whose it is, while something waits. */
  get workspaceId(): string | undefined {
    return this.#ready[this.#head]?.row.workspace_id;
  }

  mayStart(nowMs: number): boolean {
    return this.waiting > 0 && this.inFlight < this.#limit && !this.#rests(nowMs);
  }

  /** How many more rows are worth holding: about as much as is sent in the next two seconds. */
  room(nowMs: number): number {
    if (this.#rests(nowMs)) return 0;
    const ahead = Math.ceil((this.#limit * AHEAD_MS) / this.#usualMs);
    const wanted = this.#failuresInARow > 0 ? this.#limit : Math.min(HELD_MAX, ahead);
    return Math.max(0, wanted - this.waiting);
  }

  add(held: Held): void {
    this.#ready.push(held);
  }

  take(): Held | undefined {
    const held = this.#ready[this.#head];
    if (!held) return undefined;
    this.#head += 1;
    if (this.#head > 64 && this.#head * 2 > this.#ready.length) {
      this.#ready = this.#ready.slice(this.#head);
      this.#head = 0;
    }
    return held;
  }

  takeAll(): Held[] {
    const all = this.#ready.slice(this.#head);
    this.#ready = [];
    this.#head = 0;
    return all;
  }

  succeeded(durationMs: number): void {
    this.#failuresInARow = 0;
    this.#rest = { fromMs: 0, untilMs: 0 };
    this.#usualMs = Math.max(1, this.#usualMs * 0.9 + durationMs * 0.1);
    if (this.#limit < this.#limitMax) this.#limit += 1;
  }

  failed(durationMs: number, nowMs: number, askedToRestMs: number | undefined): void {
    this.#failuresInARow += 1;
    if (durationMs >= SLOW_MS) this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    const over = this.#failuresInARow - FAILURES_BEFORE_REST;
    const ownMs = over < 0 ? 0 : Math.min(REST_MAX_MS, REST_MIN_MS * 2 ** Math.min(over, 10));
    if (over >= 0) this.#limit = 1;
    const restMs = Math.max(ownMs, Math.min(askedToRestMs ?? 0, ASKED_REST_MAX_MS));
    const untilMs = nowMs + restMs;
    if (this.#rests(nowMs) && untilMs < this.#rest.untilMs) return;
    this.#rest = { fromMs: nowMs, untilMs };
  }

  /** Nothing has come for it for so long that it may be gone, and what is known of it is old. */
  isAbandoned(nowMs: number): boolean {
    if (this.inFlight > 0 || this.waiting > 0 || this.#rests(nowMs)) return false;
    return nowMs - this.usedAtMs >= ABANDONED_MS;
  }

  /** A clock that was set back behind the beginning of a rest says nothing of its end. */
  #rests(nowMs: number): boolean {
    return nowMs >= this.#rest.fromMs && nowMs < this.#rest.untilMs;
  }

  /** Nothing is known of it that a new lane would not know. */
  get forgettable(): boolean {
    return this.inFlight === 0 && this.waiting === 0 && this.#failuresInARow === 0;
  }
}

const LIMIT_START = 4;
const USUAL_START_MS = 250;
const AHEAD_MS = 2_000;
const HELD_MAX = 500;
/** A failure that took this long has held a connection that others could have used. */
const SLOW_MS = 1_000;
const FAILURES_BEFORE_REST = 10;
const REST_MIN_MS = 100;
const REST_MAX_MS = 5_000;
const ASKED_REST_MAX_MS = 10 * 60_000;
const ABANDONED_MS = 10 * 60_000;
