import type { Clock } from '../../lib/clock.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';

/**
 * Slows guessing down, by source: each refusal waits twice as long as the one before. The shortest
 * wait is longer than any look-up, so that the time tells nothing of what was wrong. A right key is
 * never slowed, whatever its neighbours at the same address do.
 */
export class AuthThrottle {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #failures = new Map<string, { count: number; atMs: number }>();

  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
  }

  /** Counts one more, and tells how long its answer waits. */
  recordFailure(ip: string): number {
    const network = clientNetwork(ip);
    const atMs = this.#clock.now();
    const previous = this.#failures.get(network);
    const count = previous && atMs - previous.atMs < RESET_AFTER_MS ? previous.count + 1 : 1;
    // Forgetting them all only forgives, and bounds memory.
    if (!previous && this.#failures.size >= NETWORKS_MAX) this.#failures.clear();
    this.#failures.set(network, { count, atMs });
    return this.#firstMs * Math.min(2 ** (count - 1), BACKOFF_FACTOR_MAX);
  }
}

const RESET_AFTER_MS = 600_000;
const NETWORKS_MAX = 10_000;
/** With half a second at first: sixteen seconds. */
const BACKOFF_FACTOR_MAX = 32;
