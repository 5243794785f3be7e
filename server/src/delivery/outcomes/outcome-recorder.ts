import type { Log } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { enterState } from '../../queue/lease.ts';
import { ResultRecorder } from '../../queue/result-recorder.ts';
import type { DeliveryStore } from '../claims/delivery-store.ts';
import type { DeliveryOutcome } from '../delivery.ts';
import type { MutableEngineStats } from '../engine-stats.ts';
import { withoutText } from './delivery-outcome.ts';

export interface OutcomeRecorderParts {
  store: Pick<DeliveryStore, 'record' | 'findRecorded'>;
  clock: Clock;
  log: Log;
  stats: MutableEngineStats;
  /** Resolves when the claim that is running, if any, has returned. */
  claimed: () => Promise<void>;
  onStalled: () => void;
  onRecovered: () => void;
  /** The outcome is committed, or discarded because another node holds the lease. */
  onFinished: (outcome: DeliveryOutcome) => void;
}

/**
 * Writes the outcome of each delivery once: under the lease of its attempt or, if this node has claimed
 * the row again meanwhile, under the new one. While the database is unavailable outcomes wait here.
 */
export class OutcomeRecorder {
  readonly #parts: OutcomeRecorderParts;
  readonly #results: ResultRecorder<DeliveryOutcome>;

  constructor(parts: OutcomeRecorderParts) {
    this.#parts = parts;
    const { store, clock, log, onStalled, onRecovered } = parts;
    this.#results = new ResultRecorder({
      what: 'results',
      write: store.record,
      findWritten: store.findRecorded,
      withoutText,
      groupMax: 500,
      clock,
      log,
      onStalled,
      onRecovered,
    });
  }

  /** Whether the database has been unavailable; nothing may be started then. */
  get stalled(): boolean {
    return this.#results.stalled;
  }

  record(outcome: DeliveryOutcome): void {
    const { delivery } = outcome;
    if (delivery.state !== 'recording') enterState(delivery, 'recording');
    this.#parts.stats.unrecorded += 1;
    this.#write(outcome);
  }

  /** Resolves when everything is written, or when the deadline has passed. */
  finish(deadlineMs: number): Promise<void> {
    return this.#results.finish(deadlineMs);
  }

  #write(outcome: DeliveryOutcome): void {
    const { claimed, log, stats } = this.#parts;
    const { delivery } = outcome;
    const { lease } = delivery;
    this.#results.record(outcome).then(
      async (written) => {
        // A claim of this node may have got the row during the write, and not returned yet.
        if (!written) await claimed();
        if (written) stats[outcome.status] += 1;
        else if (delivery.lease !== lease) return this.#write(outcome);
        else this.#logLostLease(outcome);
        this.#finish(outcome);
      },
      (error: unknown) => {
        log.error({ err: error, messageId: delivery.message.id }, 'outcome lost');
        this.#finish(outcome);
      },
    );
  }

  #logLostLease(outcome: DeliveryOutcome): void {
    this.#parts.stats.leasesLost += 1;
    this.#parts.log.warn(
      { messageId: outcome.delivery.message.id, status: outcome.status },
      'outcome discarded, lease expired',
    );
  }

  #finish(outcome: DeliveryOutcome): void {
    this.#parts.stats.unrecorded -= 1;
    this.#parts.onFinished(outcome);
  }
}
