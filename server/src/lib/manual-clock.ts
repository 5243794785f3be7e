import type { Clock, Timer } from './clock.ts';

interface Waiting {
  dueAt: number;
  order: number;
  task: () => void;
}

/** A clock that stands still until it is told to move; timers fire in order of their due time. */
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

  /** The wall clock is set back. Timers do not go by it: they fire after as long as before. */
  setBack(byMs: number): void {
    this.#now -= byMs;
    for (const entry of this.#waiting) entry.dueAt -= byMs;
  }

  /** Moves time forward and fires, in order, every timer that falls due on the way. */
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
