import { clientNetwork } from '../../lib/net/client-network.ts';
import type { Clock } from '../../lib/time/clock.ts';

/**
 * Slows down guessing of API keys: each failure from a client network is answered twice as late as
 * the one before. Even the shortest delay is longer than any lookup, so timing does not reveal why
 * a key was refused. Valid keys are never delayed, whatever other clients of the same network do.
 */
export class AuthThrottle {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #failures = new Map<string, { count: number; atMs: number }>();

  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
  }

  /** Counts a failure and returns the delay before its reply. */
  recordFailure(ip: string): number {
    const network = clientNetwork(ip);
    const atMs = this.#clock.now();
    const previous = this.#failures.get(network);
    const count = previous && atMs - previous.atMs < RESET_AFTER_MS ? previous.count + 1 : 1;
    // Bounds memory. Clearing everything only forgives past failures.
    if (!previous && this.#failures.size >= NETWORKS_MAX) this.#failures.clear();
    this.#failures.set(network, { count, atMs });
    return this.#firstMs * Math.min(2 ** (count - 1), BACKOFF_FACTOR_MAX);
  }
}

const RESET_AFTER_MS = 600_000;
const NETWORKS_MAX = 10_000;
/** 16 seconds at the default first delay of 500 ms. */
const BACKOFF_FACTOR_MAX = 32;
