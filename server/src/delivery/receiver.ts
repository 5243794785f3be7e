import type { Clock } from '../lib/clock.ts';
import { Gate } from './delivery.ts';
import type { Endpoint } from './endpoint.ts';
import { wakeGate } from './ready-list.ts';
import type { Shaping } from './shaping.ts';

/**
 * One receiving system: all domains behind the same mail servers, or a relay. Its gate says how many
 * transactions may be on the wire. The limit starts low, grows with each success and is halved when
 * the receiver asks for less, so that every receiver gets the pace it likes without being told.
 */
export class Receiver {
  readonly gate: ReceiverGate;
  readonly endpoints = new Map<string, Endpoint>();
  readonly shaping: Shaping;
  lastUsedAtMs: number;
  readonly #clock: Clock;
  #slowedAtMs = Number.NEGATIVE_INFINITY;

  constructor(shaping: Shaping, clock: Clock, onOpen: () => void) {
    this.shaping = shaping;
    this.#clock = clock;
    this.gate = new ReceiverGate(shaping, clock, onOpen);
    this.lastUsedAtMs = clock.now();
  }

  /** It took a message: a little more may go there at a time. */
  succeeded(): void {
    const { gate } = this;
    // A limit that is not used says nothing about what the receiver would bear.
    if (gate.limit >= transactionsMax(this.shaping) || gate.inUse < gate.limit - 1) return;
    gate.limit += 1;
    wakeGate(gate);
  }

  /** It asked for less (421, "too many connections"): half as much, after a pause. */
  askedForLess(): void {
    const nowMs = this.#clock.now();
    // What is on the wire when the first complaint comes will complain too: it is one request.
    const sinceMs = nowMs - this.#slowedAtMs;
    if (sinceMs >= 0 && sinceMs < SLOWED_MS) return;
    this.#slowedAtMs = nowMs;
    this.gate.limit = Math.max(1, Math.floor(this.gate.limit / 2));
    this.gate.pauseUntil(nowMs + PAUSE_MS);
  }
}

/** A gate that can also be closed for a while, by a pause or by a rate. */
export class ReceiverGate extends Gate {
  readonly #clock: Clock;
  readonly #onOpen: () => void;
  readonly #spacingMs: number;
  #opensAtMs = 0;
  #waking = false;

  constructor(shaping: Shaping, clock: Clock, onOpen: () => void) {
    super(Math.min(TRANSACTIONS_AT_FIRST, transactionsMax(shaping)));
    this.#clock = clock;
    this.#onOpen = onOpen;
    this.#spacingMs = shaping.messagesPerMinute === null ? 0 : 60_000 / shaping.messagesPerMinute;
  }

  override get open(): boolean {
    if (this.inUse >= this.limit) return false;
    if (this.#opensAtMs === 0) return true;
    const nowMs = this.#clock.now();
    if (nowMs >= this.#opensAtMs) return true;
    // It never closes for longer: then the clock was set back.
    const closedMsMax = Math.max(PAUSE_MS, this.#spacingMs);
    this.#opensAtMs = Math.min(this.#opensAtMs, nowMs + closedMsMax);
    this.#wakeAt(this.#opensAtMs - nowMs);
    return false;
  }

  override entered(): void {
    this.inUse += 1;
    if (this.#spacingMs > 0) {
      const nowMs = this.#clock.now();
      // A second's worth may go at once: spacing each message by itself would only cost timers.
      this.#opensAtMs = Math.max(this.#opensAtMs, nowMs - BURST_MS) + this.#spacingMs;
    }
  }

  pauseUntil(ms: number): void {
    this.#opensAtMs = Math.max(this.#opensAtMs, ms);
  }

  #wakeAt(delayMs: number): void {
    if (this.#waking) return;
    this.#waking = true;
    this.#clock.after(delayMs, () => {
      this.#waking = false;
      wakeGate(this);
      this.#onOpen();
    });
  }
}

/** One message on its way to its answer and one envelope behind it: see SmtpConnection. */
const PER_CONNECTION = 2;
const TRANSACTIONS_AT_FIRST = 4;
const SLOWED_MS = 2_000;
const PAUSE_MS = 2_000;
const BURST_MS = 1_000;

function transactionsMax(shaping: Shaping): number {
  return shaping.connectionsMax * PER_CONNECTION;
}
