import type { Clock } from '../time/clock.ts';

/** Makes a call on request, at most once in an interval: the first at once, those that follow together. */
export class SpacedCall {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #call: () => void;
  #calledAtMs = Number.NEGATIVE_INFINITY;
  #isScheduled = false;

  constructor(clock: Clock, intervalMs: number, call: () => void) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#call = call;
  }

  request(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#calledAtMs + this.#intervalMs - this.#clock.now();
    if (waitMs <= 0) this.#run();
    else this.#clock.after(Math.min(waitMs, this.#intervalMs), () => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    this.#calledAtMs = this.#clock.now();
    this.#call();
  }
}
