import type { Clock, Timer } from './clock.ts';

interface Waiting {
  dueAt: number;
  order: number;
  task: () => void;
}

/** A clock that only moves when a test advances it. Timers fire in the order of their due time. */
export class ManualClock implements Clock {
  #now: number;
  #order = 0;
  #waiting = new Set<Waiting>();

  constructor(startMs: number) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): Timer {
    const entry = { dueAt: this.#now + Math.max(0, delayMs), order: this.#order++, task };
    this.#waiting.add(entry);
    return { cancel: () => this.#waiting.delete(entry) };
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#waiting.size;
  }

  /** Sets the wall clock back. Timers are unaffected, as with a monotonic clock. */
  setBack(byMs: number): void {
    this.#now -= byMs;
    for (const entry of this.#waiting) entry.dueAt -= byMs;
  }

  /** Moves time forward and fires the timers that become due, in order. */
  advance(byMs: number): void {
    const end = this.#now + byMs;
    for (;;) {
      const next = [...this.#waiting]
        .filter((entry) => entry.dueAt <= end)
        .sort((a, b) => a.dueAt - b.dueAt || a.order - b.order)[0];
      if (!next) break;
      this.#waiting.delete(next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.task();
    }
    this.#now = end;
  }
}
