import type { Clock, Timer } from './clock.ts';
import type { Log } from './log.ts';

/**
 * Work that is done when there may be some: at once when woken, again while it finds something, then
 * at growing intervals up to `idleMs`. The short intervals after a wake-up catch what was announced
 * a moment before it could be seen. One piece of work runs at a time; a failure is told once and the
 * work is tried again every `idleMs`.
 */
export interface WorkLoopParts {
  clock: Clock;
  log: Log;
  /** For the log: "… goes wrong". */
  purpose: string;
  /** True when there may be more to do at once. */
  work: () => Promise<boolean>;
  /** The longest rest. */
  idleMs: number;
  /** The rest after the last find, doubled each time nothing is found. */
  soonMs?: number;
  /** How far apart two starts are at the least, so that what comes drop by drop is done in one go. */
  spacingMs?: () => number;
}

/** So that a stop, and other work of the process, gets its turn. */
const ROUNDS_AT_A_STRETCH = 50;

export class WorkLoop {
  readonly #parts: WorkLoopParts;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #started = false;
  #woken = false;
  #failing = false;
  #restMs: number;
  #notBeforeMs = 0;
  #nextAtMs = 0;

  constructor(parts: WorkLoopParts) {
    this.#parts = parts;
    this.#restMs = parts.idleMs;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#restMs = this.#parts.soonMs ?? this.#parts.idleMs;
    // What goes wrong would go wrong again: it waits for its time.
    if (!this.#failing && !this.#running) this.#plan(0);
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    await this.#running;
  }

  #plan(delayMs: number): void {
    if (!this.#started) return;
    const nowMs = this.#parts.clock.now();
    // A clock that was set back meanwhile must not make it wait for as long.
    const notBeforeMs = Math.min(this.#notBeforeMs, nowMs + (this.#parts.spacingMs?.() ?? 0));
    const atMs = Math.max(nowMs + delayMs, notBeforeMs);
    if (this.#timer && this.#nextAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs <= nowMs) {
      this.#begin();
      return;
    }
    this.#nextAtMs = atMs;
    this.#timer = this.#parts.clock.after(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#begin();
    });
  }

  #begin(): void {
    if (!this.#started || this.#running) return;
    this.#notBeforeMs = this.#parts.clock.now() + (this.#parts.spacingMs?.() ?? 0);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      const { idleMs } = this.#parts;
      const restMs = this.#failing ? idleMs : this.#woken ? 0 : this.#restMs;
      this.#restMs = Math.min(idleMs, this.#restMs * 2);
      this.#plan(restMs);
    });
  }

  async #run(): Promise<void> {
    const { log, purpose, work } = this.#parts;
    try {
      for (let round = 0; round < ROUNDS_AT_A_STRETCH && this.#started; round++) {
        this.#woken = false;
        const more = await work();
        if (this.#failing) log.info(`${purpose} goes on`);
        this.#failing = false;
        if (!more) return;
      }
      this.#woken = true;
    } catch (error) {
      if (!this.#failing && this.#started) log.warn({ err: error }, `${purpose} goes wrong`);
      this.#failing = true;
    }
  }
}
