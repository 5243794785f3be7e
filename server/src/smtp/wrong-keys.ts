import { sourceNetwork } from '../accounts/people/source-network.ts';
import type { Clock } from '../lib/clock.ts';

/**
 * Slows guessing down, by source: each refusal waits twice as long as the one before. The shortest
 * wait is longer than any look-up, so that the time tells nothing of what was wrong. A right key is
 * never slowed, whatever its neighbours at the same address do.
 */
export class WrongKeys {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #bySource = new Map<string, { count: number; atMs: number }>();

  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
  }

  /** Counts one more, and tells how long its answer waits. */
  waitMsFor(ip: string): number {
    const source = sourceNetwork(ip);
    const atMs = this.#clock.now();
    const before = this.#bySource.get(source);
    const count = before && atMs - before.atMs < FORGET_MS ? before.count + 1 : 1;
    // Forgetting them all only forgives, and bounds memory.
    if (!before && this.#bySource.size >= SOURCES_MAX) this.#bySource.clear();
    this.#bySource.set(source, { count, atMs });
    return this.#firstMs * Math.min(2 ** (count - 1), LONGEST_FACTOR);
  }
}

const FORGET_MS = 600_000;
const SOURCES_MAX = 10_000;
/** With half a second at first: sixteen seconds. */
const LONGEST_FACTOR = 32;
