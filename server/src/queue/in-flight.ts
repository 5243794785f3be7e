import { FairShares } from '../lib/scheduling/fair-shares.ts';
import type { Clock } from '../lib/time/clock.ts';

/** The attempts in flight: at most `max`, of which no workspace gets all. */
export class InFlight {
  readonly #max: number;
  readonly #shares: FairShares;
  readonly #stats: { inFlight: number };
  #onDrained: (() => void) | undefined;

  constructor(max: number, stats: { inFlight: number }) {
    this.#max = max;
    this.#shares = new FairShares(max);
    this.#stats = stats;
  }

  get isFull(): boolean {
    return this.#stats.inFlight >= this.#max;
  }

  mayStart(workspaceId: string): boolean {
    return this.#shares.canAcquire(workspaceId);
  }

  start(workspaceId: string): void {
    this.#stats.inFlight += 1;
    this.#shares.acquire(workspaceId);
  }

  end(workspaceId: string): void {
    this.#stats.inFlight -= 1;
    this.#shares.release(workspaceId);
    if (this.#stats.inFlight === 0) this.#onDrained?.();
  }

  /** Resolves when nothing is in flight, or after the deadline. */
  drained(clock: Clock, deadlineMs: number): Promise<void> {
    if (this.#stats.inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.after(deadlineMs, resolve);
      this.#onDrained = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
