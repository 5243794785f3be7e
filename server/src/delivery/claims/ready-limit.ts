import type { Clock } from '../../lib/time/clock.ts';

export interface ReadyLimitParts {
  clock: Clock;
  /** What a node may hold at any pace. It covers several round trips to the database. */
  min: number;
  /** Bounds the memory. */
  max: number;
  /** Whether no other node could send what this one holds. */
  isAlone: () => boolean;
}

/**
 * How many deliveries may wait in memory. One that is handed off costs neither a claim nor a read of
 * its content, so a burst should fit. But what one node holds, another that has nothing to do cannot
 * send: beside others, a node holds a few seconds of work at the pace of the last second.
 */
export class ReadyLimit {
  readonly #parts: ReadyLimitParts;
  #finished = 0;
  #measuredAtMs: number;
  current: number;

  constructor(parts: ReadyLimitParts) {
    this.#parts = parts;
    this.#measuredAtMs = parts.clock.now();
    this.current = parts.min;
  }

  /** Called about once a second, with the number of deliveries ever finished. */
  update(finished: number): void {
    const { clock, min, max, isAlone } = this.#parts;
    const nowMs = clock.now();
    const elapsedMs = nowMs - this.#measuredAtMs;
    const perSecond = elapsedMs > 0 ? ((finished - this.#finished) / elapsedMs) * 1000 : 0;
    this.#finished = finished;
    this.#measuredAtMs = nowMs;
    const wanted = isAlone() ? max : perSecond * SECONDS_HELD;
    // A second without results may be a slow commit: the limit shrinks by half at most.
    this.current = Math.round(Math.min(max, Math.max(min, wanted, this.current / 2)));
  }
}

const SECONDS_HELD = 3;
