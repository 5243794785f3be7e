import type { Pool } from '../../db/connections/pool.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { releaseLeases } from '../../queue/lease-store.ts';
import { DELIVERIES, type LeasedDelivery } from '../deliveries/delivery-lease-store.ts';
import type { HandedOffMessage, Lease } from './delivery-handoff.ts';

interface Unconfirmed extends LeasedDelivery {
  leaseEndsAtMs: number;
}

const RETRY_MS = 2_000;

/**
 * Deliveries that were inserted with a lease by a commit whose response was lost. If the commit
 * succeeded, nothing in memory holds them, and they would wait until the lease ends. They are released
 * as soon as the database answers, and again later: the commit may still be in progress.
 */
export class UnconfirmedLeases {
  readonly #pool: Pool;
  readonly #clock: Clock;
  #deliveries: Unconfirmed[] = [];
  #isScheduled = false;

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  add(lease: Lease, messages: readonly HandedOffMessage[]): void {
    for (const { workspaceId, mode, messageId: id, deliveries } of messages) {
      const message = { workspaceId, mode, id };
      for (const { ordinal } of deliveries) {
        const { token, endsAtMs: leaseEndsAtMs } = lease;
        this.#deliveries.push({ message, ordinal, lease: token, leaseEndsAtMs });
      }
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#deliveries.length === 0) return;
    this.#isScheduled = true;
    this.#clock.after(RETRY_MS, () => {
      void this.#release().finally(() => {
        this.#isScheduled = false;
        this.#schedule();
      });
    });
  }

  async #release(): Promise<void> {
    const nowMs = this.#clock.now();
    const tried = this.#deliveries.filter(({ leaseEndsAtMs }) => nowMs < leaseEndsAtMs);
    this.#deliveries = [];
    let left = tried;
    try {
      const released = new Set(await releaseLeases(this.#pool, DELIVERIES, tried, nowMs));
      left = tried.filter((_, index) => !released.has(index));
    } catch {
      // The outage is reported elsewhere.
    }
    this.#deliveries.push(...left);
  }
}
