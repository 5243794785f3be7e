import type { Log } from '../log.ts';
import type { Clock, Timer } from '../time/clock.ts';

/**
 * Runs work when it is woken, again while it finds something, and then at growing intervals up to
 * `idleMs`. The short intervals after a wake-up catch work that was announced just before it became
 * visible. Runs never overlap. A failure is logged once, and the work is retried every `idleMs`.
 */
export interface WorkLoopOptions {
  clock: Clock;
  log: Log;
  /** For the log. */
  task: string;
  /** Returns true if there may be more to do immediately. */
  work: () => Promise<boolean>;
  /** The maximum delay between runs. */
  idleMs: number;
  /** The delay after work was found; doubled each time nothing is found. */
  firstDelayMs?: number;
  /** The minimum time between the starts of two runs, to handle a trickle of work in batches. */
  minIntervalMs?: () => number;
}

/** Gives other work of the process, and a stop, a chance to run. */
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

  constructor(options: WorkLoopOptions) {
    this.#options = options;
    this.#delayMs = options.idleMs;
  }

  /** Also after a stop. */
  start(): void {
    this.#started = true;
    this.#failing = false;
    this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#delayMs = this.#options.firstDelayMs ?? this.#options.idleMs;
    // A failing task waits for its retry.
    if (!this.#failing && !this.#running) this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
  }

  #schedule(delayMs: number): void {
    if (!this.#started) return;
    const nowMs = this.#options.clock.now();
    // A clock that was set back must not extend the wait.
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
      const delayMs = this.#failing ? idleMs : this.#woken ? 0 : this.#delayMs;
      this.#delayMs = Math.min(idleMs, this.#delayMs * 2);
      this.#schedule(delayMs);
    });
  }

  async #run(): Promise<void> {
    const { log, task, work } = this.#options;
    try {
      for (let run = 0; run < CONSECUTIVE_RUNS_MAX && this.#started; run++) {
        this.#woken = false;
        const more = await work();
        if (this.#failing) log.info({ task }, 'task recovered');
        this.#failing = false;
        if (!more) return;
      }
      this.#woken = true;
    } catch (error) {
      if (!this.#failing && this.#started) log.warn({ err: error, task }, 'task failed: retrying');
      this.#failing = true;
    }
  }
}

/**
 * Runs work several times at once. Returns true if all of them may have more to do immediately. Waits for
 * all even if one fails, so that nothing continues after the loop has stopped.
 */
export async function inParallel(
  count: number,
  work: (index: number) => Promise<boolean>,
): Promise<boolean> {
  const ends = await Promise.allSettled(Array.from({ length: count }, (_, index) => work(index)));
  return ends.every((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
}
