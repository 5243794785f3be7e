import { Fifo } from '../lib/scheduling/fifo.ts';

export interface Waiter {
  resume(): void;
}

/** Limits the transactions that one receiver gets at a time, and queues those who wait for a slot. */
export class ConcurrencyLimit {
  inUse = 0;
  limit: number;
  readonly #waiters = new Fifo<Waiter>();
  /** The limit that replaced this one: slots still in use here count there as well. */
  #mergedInto: ConcurrencyLimit | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  get hasCapacity(): boolean {
    return this.inUse < this.limit;
  }

  get isUnused(): boolean {
    return this.inUse === 0 && this.#waiters.size === 0;
  }

  acquire(): void {
    this.inUse += 1;
  }

  /** Frees a slot and resumes the next waiter. */
  release(): void {
    this.inUse -= 1;
    this.notifyWaiters();
    this.#mergedInto?.release();
  }

  /** Waiters are resumed in order, one for each slot that becomes free. */
  enqueueWaiter(waiter: Waiter): void {
    this.#waiters.push(waiter);
  }

  /** Resumes one waiter for each free slot; a raised limit may free several at once. */
  notifyWaiters(): void {
    for (let free = this.limit - this.inUse; free > 0; free--) {
      const waiter = this.#waiters.shift();
      if (!waiter) return;
      waiter.resume();
    }
  }

  mergeInto(target: ConcurrencyLimit): void {
    if (this.#mergedInto) return;
    this.#mergedInto = target;
    target.inUse += this.inUse;
  }
}
