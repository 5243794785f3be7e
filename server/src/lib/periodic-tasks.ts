import type { Clock, Timer } from './clock.ts';
import type { Log } from './log.ts';

/** Work that is done now and then for as long as the process lives. A round that fails is told, and tried again at its next time. */
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

  /** The next round is planned when this one has ended, so rounds never overlap. */
  schedule(delayMs: number, purpose: string, work: () => Promise<void>): void {
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      const round = work()
        .catch((error: unknown) => this.#log.warn({ err: error, purpose }, 'a round failed'))
        .finally(() => {
          this.#running.delete(round);
          if (!this.#stopped) this.schedule(delayMs, purpose, work);
        });
      this.#running.add(round);
    });
    this.#timers.add(timer);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    await Promise.all(this.#running);
  }
}
