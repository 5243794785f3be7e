import type { Clock } from '../../lib/time/clock.ts';
import { EndpointLimit, LEASED_INITIAL } from './endpoint-limit.ts';

/** The limits of all endpoints that this node has sent to lately. */
export class EndpointLimits {
  readonly #clock: Clock;
  readonly #perEndpointMax: number;
  readonly #onCapacity: () => void;
  readonly #limits = new Map<string, EndpointLimit>();

  constructor(parts: { clock: Clock; perEndpointMax: number; onCapacity: () => void }) {
    this.#clock = parts.clock;
    this.#perEndpointMax = parts.perEndpointMax;
    this.#onCapacity = parts.onCapacity;
  }

  get(webhookId: string): EndpointLimit {
    const existing = this.#limits.get(webhookId);
    if (existing) return existing;
    if (this.#limits.size >= ENDPOINTS_MAX) this.#remove((limit) => limit.isDisposable);
    const limit = new EndpointLimit({
      clock: this.#clock,
      limitMax: this.#perEndpointMax,
      onCapacity: this.#onCapacity,
    });
    this.#limits.set(webhookId, limit);
    return limit;
  }

  leaseCapacityOf(webhookId: string): number {
    return this.#limits.get(webhookId)?.leaseCapacity ?? LEASED_INITIAL;
  }

  leaseCapacities(): { id: string; capacity: number }[] {
    return [...this.#limits].map(([id, limit]) => ({ id, capacity: limit.leaseCapacity }));
  }

  /**
   * Forgets endpoints that may be deleted. Every fan-out lists all limits, so leftovers would make it
   * slower forever.
   */
  removeOutdated(): void {
    this.#remove((limit) => limit.isOutdated);
  }

  #remove(isUnneeded: (limit: EndpointLimit) => boolean): void {
    for (const [id, limit] of this.#limits) if (isUnneeded(limit)) this.#limits.delete(id);
  }
}

const ENDPOINTS_MAX = 10_000;
