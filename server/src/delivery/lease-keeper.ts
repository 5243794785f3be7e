import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { MutableEngineStats } from './engine-stats.ts';
import type { LeasedMessages } from './leased-messages.ts';
import type { ReadyQueue } from './ready-queue.ts';

export interface LeaseKeeperParts {
  store: Pick<DeliveryStore, 'renew' | 'release'>;
  clock: Clock;
  log: Log;
  leased: LeasedMessages;
  ready: ReadyQueue;
  stats: MutableEngineStats;
  leaseMs: number;
  /** The delivery waited here until its retry window or ttl ended. */
  onExpired: (delivery: Delivery, nowMs: number) => void;
}

const UPKEEP_MS = 1_000;

/**
 * Maintains the leases of all deliveries in memory: renews them while the node works, releases them
 * when it stops, and drops deliveries whose lease was lost.
 */
export class LeaseKeeper {
  readonly #parts: LeaseKeeperParts;
  #timer: Timer | undefined;
  #stopped = false;
  readonly #releases = new Set<Promise<void>>();

  constructor(parts: LeaseKeeperParts) {
    this.#parts = parts;
  }

  /** Clocks of nodes differ slightly, so no attempt starts in the last moments of a lease. */
  isSafe(delivery: Delivery, nowMs: number): boolean {
    const marginMs = Math.min(5_000, this.#parts.leaseMs / 10);
    return nowMs < delivery.leaseEndsAtMs - marginMs;
  }

  start(): void {
    this.#timer = this.#parts.clock.after(UPKEEP_MS, () => {
      void this.#renewAndExpire().finally(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Removes a delivery that is finished or no longer leased. */
  drop(delivery: Delivery): void {
    const { ready, leased } = this.#parts;
    ready.remove(delivery);
    delivery.state = 'dropped';
    leased.remove(delivery);
  }

  /** Makes the rows due for other nodes, after an optional delay. */
  async release(deliveries: readonly Delivery[], delayMs = 0): Promise<void> {
    for (const delivery of deliveries) this.drop(delivery);
    const release = this.#writeRelease(deliveries, delayMs);
    this.#releases.add(release);
    await release;
    this.#releases.delete(release);
  }

  /** Resolves when no release is in progress. */
  async released(): Promise<void> {
    while (this.#releases.size > 0) await Promise.all(this.#releases);
  }

  async #writeRelease(deliveries: readonly Delivery[], inMs: number): Promise<void> {
    const { store, clock, log } = this.#parts;
    try {
      await store.release(deliveries, clock.now() + inMs);
    } catch (error) {
      // Nothing is lost: the leases expire.
      log.warn({ err: error, count: deliveries.length }, 'releasing leases failed');
    }
  }

  async #renewAndExpire(): Promise<void> {
    const { clock, leased, ready, stats, leaseMs, onExpired } = this.#parts;
    const nowMs = clock.now();
    const renew: Delivery[] = [];
    for (const delivery of leased.all()) {
      const waits = delivery.state === 'ready';
      if (waits && nowMs >= delivery.giveUpAtMs) {
        ready.remove(delivery);
        onExpired(delivery, nowMs);
      } else if (waits && nowMs >= delivery.leaseEndsAtMs) {
        stats.leasesLost += 1;
        this.drop(delivery);
      } else if (delivery.leaseEndsAtMs - nowMs < leaseMs / 2) {
        renew.push(delivery);
      }
    }
    if (renew.length > 0) await this.#renew(renew, nowMs + leaseMs);
  }

  async #renew(deliveries: Delivery[], endsAtMs: number): Promise<void> {
    const { store, log, stats } = this.#parts;
    try {
      const ours = new Set(await store.renew(deliveries, endsAtMs));
      deliveries.forEach((delivery, index) => {
        if (ours.has(index)) delivery.leaseEndsAtMs = endsAtMs;
        else if (delivery.state === 'ready') {
          stats.leasesLost += 1;
          this.drop(delivery);
        }
      });
    } catch (error) {
      log.warn({ err: error, count: deliveries.length }, 'renewing leases failed');
    }
  }
}
