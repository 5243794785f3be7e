import type { Log } from '../log.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** Runs tasks at regular intervals. A failure is logged, and the task runs again at the next interval. */
export class PeriodicTasks {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timers = new Set<Timer>();
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  constructor(parts: { clock: Clock; log: Log }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /**
   * The next run is scheduled when this one has ended, so runs never overlap. The first run comes
   * after `firstMs`: a server that restarts more often than the interval must still get to it.
   */
  schedule(
    intervalMs: number,
    task: string,
    work: () => Promise<void>,
    firstMs: number = intervalMs,
  ): void {
    const timer = this.#clock.after(firstMs, () => {
      this.#timers.delete(timer);
      const run = work()
        .catch((error: unknown) => this.#log.warn({ err: error, task }, 'periodic task failed'))
        .finally(() => {
          this.#running.delete(run);
          if (!this.#stopped) this.schedule(intervalMs, task, work);
        });
      this.#running.add(run);
    });
    this.#timers.add(timer);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    await Promise.all(this.#running);
  }
}
