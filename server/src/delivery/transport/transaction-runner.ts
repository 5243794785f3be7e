import { isTransientError } from '../../db/connections/database-errors.ts';
import type { Log } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import { enterState } from '../../queue/lease.ts';
import type { LeaseKeeper } from '../../queue/lease-keeper.ts';
import { ContentLoader, type MailTransaction } from '../claims/content-loader.ts';
import type { DeliveryStore } from '../claims/delivery-store.ts';
import type { LeasedMessages } from '../claims/leased-messages.ts';
import type {
  AttemptReport,
  Delivery,
  DeliveryOutcome,
  Hold,
  Message,
  Transport,
} from '../delivery.ts';
import type { EngineLimits } from '../engine-limits.ts';
import type { MutableEngineStats } from '../engine-stats.ts';
import {
  attemptOutcome,
  expiredOutcome,
  failedOutcome,
  heldOutcome,
} from '../outcomes/delivery-outcome.ts';
import { ReceiverBusyError } from '../receivers/receivers.ts';
import { NotPreparedError } from './outgoing-mail.ts';

export interface TransactionRunnerParts {
  store: Pick<DeliveryStore, 'readContents' | 'countSuspects'>;
  clock: Clock;
  log: Log;
  transports: { live: Transport; test: Transport };
  nodeName: string;
  limits: EngineLimits;
  stats: MutableEngineStats;
  leased: LeasedMessages;
  leases: LeaseKeeper<Delivery>;
  /** Whether an attempt may start: the engine is running and holds the lease. */
  mayStart: (delivery: Delivery) => boolean;
  /** Asked before the final dot: whether no other node can have taken over the delivery. */
  mayTransmit: (delivery: Delivery) => boolean;
  record: (outcome: DeliveryOutcome) => void;
  /** Puts a delivery back into the ready queue. */
  requeue: (delivery: Delivery) => void;
  /** The transaction has ended; its outcomes may not be written yet. */
  onFinished: (transaction: MailTransaction) => void;
}

const UNPREPARED_RETRY_MS = 1_000;

/**
 * Runs mail transactions: loads the content, attempts, and turns each report into an outcome. Every
 * delivery of a transaction ends in one of four ways: its outcome is recorded, it waits in the ready
 * queue again, its lease is released, or it is dropped and its lease expires.
 */
export class TransactionRunner {
  readonly #parts: TransactionRunnerParts;
  readonly #loader: ContentLoader;

  constructor(parts: TransactionRunnerParts) {
    this.#parts = parts;
    const { store, clock, limits, stats, leased } = parts;
    this.#loader = new ContentLoader({
      store,
      clock,
      leaseEndsAtMs: () => clock.now() + limits.leaseMs,
      onReady: (transaction) => this.#attempt(transaction),
      onError: (transactions, error) => this.#contentReadFailed(transactions, error),
      onLoaded: (bytes) => {
        stats.contentBytes += bytes;
      },
      contentBytes: () => stats.contentBytes,
      bytesMax: limits.contentBytesMax,
      evict: (bytes) => leased.evictContents(bytes),
      workspacesWithContent: () => leased.workspacesWithContent(),
      smallBytesMax: Math.floor(limits.contentBytesMax / limits.inFlightMax),
    });
  }

  start(message: Message, deliveries: Delivery[], limit: ConcurrencyLimit): void {
    const transport = this.#parts.transports[message.mode];
    const { needsContent } = transport;
    const transaction: MailTransaction = { limit, message, deliveries, needsContent };
    let suspect = false;
    for (const delivery of deliveries) {
      enterState(delivery, 'preparing');
      suspect ||= delivery.suspect;
    }
    const hold = transport.hold?.(deliveries, limit);
    if (hold) this.#hold(transaction, hold);
    else if (suspect || (needsContent && !message.content)) this.#loader.add(transaction);
    else this.#attempt(transaction);
  }

  /** The deliveries are deferred. Their content is not needed for that. */
  #hold(transaction: MailTransaction, hold: Hold): void {
    const { clock, nodeName } = this.#parts;
    const nowMs = clock.now();
    for (const delivery of transaction.deliveries) {
      if (!this.#isStillDeliverable(delivery, nowMs)) continue;
      this.#parts.record(heldOutcome(delivery, hold, Math.random(), nowMs, nodeName));
    }
    this.#finishTransaction(transaction);
  }

  #attempt(transaction: MailTransaction): void {
    const { clock, transports, nodeName, mayTransmit } = this.#parts;
    const { message } = transaction;
    const nowMs = clock.now();
    const transport = transports[message.mode];
    const deliveries = transaction.deliveries.filter((delivery) =>
      this.#isStillDeliverable(delivery, nowMs),
    );
    if (transaction.needsContent && message.contentMissing) {
      for (const delivery of deliveries) {
        this.#parts.record(failedOutcome(delivery, 'content_gone', nowMs, nodeName));
      }
      this.#finishTransaction(transaction);
      return;
    }
    if (deliveries.length === 0) {
      this.#finishTransaction(transaction);
      return;
    }
    for (const delivery of deliveries) enterState(delivery, 'sending');
    transport
      .attempt(message, deliveries, () => deliveries.every(mayTransmit), transaction.limit)
      .then(
        (reports) => this.#recordReports(transaction, deliveries, reports),
        (error: unknown) => {
          if (error instanceof ReceiverBusyError) this.#requeue(transaction, deliveries);
          else if (error instanceof NotPreparedError)
            this.#releaseUnprepared(transaction, deliveries, error);
          else this.#attemptFailed(transaction, deliveries, error);
        },
      );
  }

  /** The receiver turned out to have no capacity: the deliveries wait for it without a slot. */
  #requeue(transaction: MailTransaction, deliveries: Delivery[]): void {
    const { mayStart, requeue, leases } = this.#parts;
    for (const delivery of deliveries) {
      if (mayStart(delivery)) requeue(delivery);
      else void leases.release([delivery]);
    }
    this.#finishTransaction(transaction);
  }

  /** Checks what may have changed while the delivery waited: cancelled, lease lost, expired. */
  #isStillDeliverable(delivery: Delivery, nowMs: number): boolean {
    const { nodeName, log } = this.#parts;
    if (delivery.state !== 'preparing') return false;
    if (!this.#parts.mayStart(delivery)) {
      void this.#parts.leases.release([delivery]);
      return false;
    }
    if (!this.#parts.leases.isSafe(delivery, nowMs)) {
      log.warn({ messageId: delivery.message.id }, 'lease expired before the attempt');
      this.#parts.leases.lose(delivery);
      return false;
    }
    if (nowMs >= delivery.giveUpAtMs) {
      this.#parts.record(expiredOutcome(delivery, nowMs, nodeName));
      return false;
    }
    return true;
  }

  #recordReports(
    transaction: MailTransaction,
    deliveries: Delivery[],
    reports: AttemptReport[],
  ): void {
    const { clock, nodeName } = this.#parts;
    const nowMs = clock.now();
    const unfinished: Delivery[] = [];
    deliveries.forEach((delivery, index) => {
      const report = reports[index];
      // Aborted by our own stop or a lost lease before the message was handed over: not an attempt.
      if (!report || (report.end.kind === 'aborted' && !report.end.afterFinalDot)) {
        unfinished.push(delivery);
        return;
      }
      this.#parts.record(
        attemptOutcome(delivery, report, {
          relay: report.relay ?? false,
          backoff: this.#parts.limits.backoff,
          random: Math.random(),
          nowMs,
          node: nodeName,
        }),
      );
    });
    if (unfinished.length > 0) void this.#parts.leases.release(unfinished);
    this.#finishTransaction(transaction);
  }

  /**
   * An internal error. The lease is left to expire, and the next claim counts it (messages/deliveries/delivery-lease-store.ts).
   */
  #attemptFailed(transaction: MailTransaction, deliveries: Delivery[], error: unknown): void {
    this.#parts.stats.errors += 1;
    this.#parts.log.error(
      { err: error, messageId: transaction.message.id },
      'delivery attempt failed with an internal error',
    );
    for (const delivery of deliveries) this.#parts.leases.drop(delivery);
    this.#finishTransaction(transaction);
  }

  /**
   * Released without suspicion, but with a delay: the next node may not reach the database either.
   */
  #releaseUnprepared(
    transaction: MailTransaction,
    deliveries: Delivery[],
    error: NotPreparedError,
  ): void {
    this.#parts.log.warn({ err: error, messageId: transaction.message.id }, 'message not prepared');
    transaction.message.prepared = undefined;
    void this.#parts.leases.release(deliveries, UNPREPARED_RETRY_MS);
    this.#finishTransaction(transaction);
  }

  #contentReadFailed(transactions: MailTransaction[], error: unknown): void {
    this.#parts.log.warn(
      { err: error, transactions: transactions.length },
      'reading message contents failed',
    );
    const { leases } = this.#parts;
    for (const transaction of transactions) {
      const waiting = transaction.deliveries.filter(({ state }) => state === 'preparing');
      // Without a database there is no suspicion, and nothing waits for the end of a lease.
      if (isTransientError(error)) void leases.release(waiting, UNPREPARED_RETRY_MS);
      else for (const delivery of waiting) leases.drop(delivery);
      this.#finishTransaction(transaction);
    }
  }

  #finishTransaction(transaction: MailTransaction): void {
    this.#loader.wake();
    this.#parts.onFinished(transaction);
  }
}
