import { FairShares } from './fair-shares.ts';

/**
 * Limits how much work runs at the same time, fairly between its owners (the workspaces): each waits in
 * a queue of its own, so the others are not delayed by one with a lot of slow work.
 */
export class FairQueue {
  readonly #shares: FairShares;
  /** Waiting work by owner, in the order of service: an owner that was served moves to the end. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(concurrencyMax: number) {
    this.#shares = new FairShares(concurrencyMax);
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    await this.#acquire(owner);
    try {
      return await work();
    } finally {
      this.#release(owner);
    }
  }

  async #acquire(owner: string): Promise<void> {
    // Never for an owner that waits: as soon as it could, its oldest work was admitted.
    if (this.#shares.canAcquire(owner)) {
      this.#shares.acquire(owner);
      return;
    }
    const line = this.#waiting.get(owner);
    await new Promise<void>((go) => {
      if (line) line.push(go);
      else this.#waiting.set(owner, [go]);
    });
  }

  #release(owner: string): void {
    this.#shares.release(owner);
    while (this.#admitNext());
  }

  #admitNext(): boolean {
    for (const [owner, line] of this.#waiting) {
      if (!this.#shares.canAcquire(owner)) continue;
      this.#shares.acquire(owner);
      line.shift()?.();
      this.#waiting.delete(owner);
      if (line.length > 0) this.#waiting.set(owner, line);
      return true;
    }
    return false;
  }
}
