import type { Clock, Timer } from './clock.ts';
import type { Log } from './log.ts';

/**
 * Work that is done when there may be some: at once when woken, again while it finds something, then
 * at growing intervals up to `idleMs`. The short intervals after a wake-up catch what was announced
 * a moment before it could be seen. One piece of work runs at a time; a failure is told once and the
 * work is tried again every `idleMs`.
 */
export interface WorkLoopOptions {
  clock: Clock;
  log: Log;
  /** For the log: "… goes wrong". */
  task: string;
  /** True when there may be more to do at once. */
  work: () => Promise<boolean>;
  /** The longest rest. */
  idleMs: number;
  /** The rest after the last find, doubled each time nothing is found. */
  firstDelayMs?: number;
  /** How far apart two starts are at the least, so that what comes drop by drop is done in one go. */
  minIntervalMs?: () => number;
}

/** So that a stop, and other work of the process, gets its turn. */
const CONSECUTIVE_RUNS_MAX = 50;

export class WorkLoop {
  readonly #options: WorkLoopOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #started = false;
  #woken = false;
  #failing = false;
  #delayMs: number;
  #notBeforeMs = 0;
  #nextAtMs = 0;

  constructor(parts: WorkLoopOptions) {
    this.#options = parts;
    this.#delayMs = parts.idleMs;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#delayMs = this.#options.firstDelayMs ?? this.#options.idleMs;
    // What goes wrong would go wrong again: it waits for its time.
    if (!this.#failing && !this.#running) this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    await this.#running;
  }

  #schedule(delayMs: number): void {
    if (!this.#started) return;
    const nowMs = this.#options.clock.now();
    // A clock that was set back meanwhile must not make it wait for as long.
    const notBeforeMs = Math.min(this.#notBeforeMs, nowMs + (this.#options.minIntervalMs?.() ?? 0));
    const atMs = Math.max(nowMs + delayMs, notBeforeMs);
    if (this.#timer && this.#nextAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs <= nowMs) {
      this.#begin();
      return;
    }
    this.#nextAtMs = atMs;
    this.#timer = this.#options.clock.after(atMs - nowMs, () => {
      this.#timer = undefined;
      this.#begin();
    });
  }

  #begin(): void {
    if (!this.#started || this.#running) return;
    this.#notBeforeMs = this.#options.clock.now() + (this.#options.minIntervalMs?.() ?? 0);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      const { idleMs } = this.#options;
      const restMs = this.#failing ? idleMs : this.#woken ? 0 : this.#delayMs;
      this.#delayMs = Math.min(idleMs, this.#delayMs * 2);
      this.#schedule(restMs);
    });
  }

  async #run(): Promise<void> {
    const { log, task: purpose, work } = this.#options;
    try {
      for (let round = 0; round < CONSECUTIVE_RUNS_MAX && this.#started; round++) {
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
