import type { Mode } from '../accounts/tenant-scope.ts';
import type { Clock } from '../lib/clock.ts';
import { FairShares } from '../lib/fair-shares.ts';
import type { Log } from '../lib/log.ts';
import type {
  DeliveryHandoff,
  HandedOffMessage,
  Lease,
} from '../messages/accept/delivery-handoff.ts';
import type { ClaimedRow } from '../messages/deliveries/claim-store.ts';
import { ClaimLoop } from './claim-loop.ts';
import { ContentLoader, type MailTransaction } from './content-loader.ts';
import type { AttemptReport, Delivery, DeliveryOutcome, Transport } from './delivery.ts';
import {
  attemptOutcome,
  expiredOutcome,
  failedOutcome,
  outcomeAtClaim,
} from './delivery-outcome.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { EngineLimits } from './engine-limits.ts';
import {
  allocateStatsMemory,
  type EngineStats,
  type MutableEngineStats,
  sharedStats,
} from './engine-stats.ts';
import { releaseReservation, reserveCapacity } from './handoff.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { includesAll, LeasedMessages } from './leased-messages.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';
import { NotPreparedError } from './outgoing-mail.ts';
import { ReadyQueue } from './ready-queue.ts';

/**
 * The delivery engine: claim → prepare → attempt → verdict → record. Deliveries come in by claims
 * and, leased on insert, directly from acceptance; one committed outcome goes out for each.
 * Guarantees: an attempt starts only under a lease; an outcome is written only while the lease
 * holds; memory is bounded however much is queued; no tenant or receiver delays another; and
 * whatever is unfinished when the process stops or crashes is continued by another node.
 */
export interface Engine extends DeliveryHandoff {
  start(): void;
  /** Finishes transactions in flight and releases all other leases. */
  stop(deadlineMs?: number): Promise<void>;
  /** Rows may have become due: another node inserted, retried or rescheduled some. */
  wake(): void;
  readonly stats: EngineStats;
}

export interface EngineParts {
  store: DeliveryStore;
  clock: Clock;
  transports: { live: Transport; test: Transport };
  log: Log;
  nodeName: string;
  limits: EngineLimits;
  /** Memory for the stats when another thread reads them. */
  memory?: SharedArrayBuffer;
}

const STOP_DEADLINE_MS = 25_000;
const ABORT_GRACE_MS = 1_000;
const UNPREPARED_RETRY_MS = 1_000;

export function createEngine(parts: EngineParts): Engine {
  return new DeliveryEngine(parts);
}

class DeliveryEngine implements Engine {
  readonly #parts: EngineParts;
  readonly #limits: EngineLimits;
  readonly #stats: MutableEngineStats;
  readonly #leased: LeasedMessages;
  readonly #ready: ReadyQueue;
  readonly #shares: FairShares;
  readonly #recorder: OutcomeRecorder;
  readonly #loader: ContentLoader;
  readonly #claims: ClaimLoop;
  readonly #leases: LeaseKeeper;
  #running = false;
  #pumping = false;
  /** More is claimed when the ready queue shrinks to this size. */
  #refillBelow = 0;
  #onDrained: (() => void) | undefined;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { limits } = parts;
    this.#limits = limits;
    this.#stats = sharedStats(parts.memory ?? allocateStatsMemory());
    const { clock, log, store, transports } = parts;
    this.#leased = new LeasedMessages(this.#stats);
    this.#shares = new FairShares(limits.inFlightMax);
    this.#ready = new ReadyQueue(
      (delivery) => transports[delivery.message.mode].limitFor(delivery.domain),
      this.#stats,
      (workspaceId) => this.#shares.canAcquire(workspaceId),
    );
    this.#recorder = new OutcomeRecorder({
      write: store.record,
      findWritten: store.findRecorded,
      clock,
      log,
      onStalled: () => this.#updateAccepting(),
      onRecovered: () => {
        this.#updateAccepting();
        this.#pump();
      },
    });
    this.#leases = new LeaseKeeper({
      store,
      clock,
      log,
      leased: this.#leased,
      ready: this.#ready,
      stats: this.#stats,
      leaseMs: limits.leaseMs,
      onExpired: (delivery, nowMs) => this.#record(expiredOutcome(delivery, nowMs, parts.nodeName)),
    });
    this.#loader = new ContentLoader({
      store,
      clock,
      leaseEndsAtMs: () => clock.now() + limits.leaseMs,
      onReady: (transaction) => this.#attempt(transaction),
      onError: (transactions, error) => this.#contentReadFailed(transactions, error),
      onLoaded: (bytes) => {
        this.#stats.contentBytes += bytes;
      },
      contentBytes: () => this.#stats.contentBytes,
      bytesMax: limits.contentBytesMax,
      evict: (bytes) => this.#leased.evictContents(bytes),
      workspacesWithContent: () => this.#leased.workspacesWithContent(),
      smallBytesMax: Math.floor(limits.contentBytesMax / limits.inFlightMax),
    });
    this.#claims = new ClaimLoop({
      clock,
      stopwatchMs: () => performance.now(),
      log,
      scan: store.scan,
      claim: store.claim,
      findRange: store.findRange,
      capacity: () => this.#claimCapacity(),
      admit: (rows, leaseEndsAtMs) => this.#admit(rows, leaseEndsAtMs),
      leaseMs: limits.leaseMs,
      retryWindowMs: limits.retryWindowMs,
      pollMs: limits.pollMs,
    });
  }

  get stats(): EngineStats {
    return this.#stats;
  }

  start(): void {
    this.#running = true;
    this.#updateAccepting();
    const { live, test } = this.#parts.transports;
    live.onCapacity = test.onCapacity = () => this.#pump();
    this.#claims.start();
    this.#leases.start();
  }

  wake(): void {
    this.#claims.notifyDue();
  }

  reserveCapacity(count: number, bytes: number): Lease | undefined {
    const { clock } = this.#parts;
    return reserveCapacity({ stats: this.#stats, clock, limits: this.#limits }, count, bytes);
  }

  handOff(lease: Lease, accepted: readonly HandedOffMessage[]): void {
    releaseReservation(this.#stats, lease);
    const taken = accepted.flatMap((handed) => this.#leased.addHandoff(handed, lease));
    this.#stats.handedOff += taken.length;
    // Committed after stop was requested: another node can claim them at once.
    if (!this.#running) {
      void this.#leases.release(taken);
      return;
    }
    for (const delivery of taken) this.#ready.add(delivery);
    this.#pump();
  }

  async withdraw(
    workspaceId: string,
    mode: Mode,
    messageId: string,
    leased: readonly number[] = [],
  ): Promise<boolean> {
    const deliveries = this.#leased.find(workspaceId, mode, messageId);
    if (deliveries.length === 0 || !includesAll(leased, deliveries)) return false;
    if (deliveries.some(({ state }) => state === 'sending' || state === 'recording')) return false;
    for (const delivery of deliveries) this.#leases.drop(delivery);
    return true;
  }

  async stop(deadlineMs = STOP_DEADLINE_MS): Promise<void> {
    const { clock, transports } = this.#parts;
    const endsAtMs = clock.now() + deadlineMs;
    this.#running = false;
    this.#updateAccepting();
    await this.#claims.stop();
    await this.#leases.release(this.#leased.all().filter(({ state }) => state === 'ready'));
    await this.#drained(deadlineMs);
    transports.live.abort();
    transports.test.abort();
    // Aborted transactions end now, and are recorded or released like the rest.
    await this.#drained(ABORT_GRACE_MS);
    await Promise.all([
      this.#recorder.finish(Math.max(1_000, endsAtMs - clock.now())),
      this.#leases.released(),
    ]);
    this.#leases.stop();
    await Promise.all([transports.live.close(), transports.test.close()]);
  }

  /** While nothing may be sent, accepted messages wait in the database. */
  #updateAccepting(): void {
    this.#stats.accepting = this.#running && !this.#recorder.stalled ? 1 : 0;
  }

  #drained(deadlineMs: number): Promise<void> {
    if (this.#stats.inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#parts.clock.after(deadlineMs, resolve);
      this.#onDrained = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #claimCapacity(): { rowsMax: number; skipWorkspaces: string[] } {
    const { readyMax } = this.#limits;
    const blocked = this.#recorder.stalled || this.#stats.unrecorded >= this.#limits.unrecordedMax;
    const reserved = this.#stats.reserved - this.#stats.released;
    const free = readyMax - this.#ready.size - reserved;
    // A nearly full queue is not refilled: many small claims cost more than a few large ones.
    if (blocked || free < readyMax / 8) return { rowsMax: 0, skipWorkspaces: [] };
    const share = readyMax / 4;
    return {
      rowsMax: Math.floor(Math.min(free, share)),
      skipWorkspaces: this.#ready.workspacesHolding(share),
    };
  }

  #admit(rows: ClaimedRow[], leaseEndsAtMs: number): void {
    const { clock, nodeName, log } = this.#parts;
    const nowMs = clock.now();
    this.#stats.claimed += rows.length;
    const unwanted: Delivery[] = [];
    for (const row of rows) {
      const delivery = this.#leased.addClaimed(row, leaseEndsAtMs, nowMs);
      const ended = outcomeAtClaim(delivery, row, nowMs, nodeName);
      if (ended) this.#record(ended);
      else if (this.#running) this.#ready.add(delivery);
      else unwanted.push(delivery);
      if (ended?.reason === 'internal_error') {
        const { message_id: messageId, ordinal } = row;
        log.error({ messageId, ordinal }, 'delivery failed: no node survived attempting it');
      }
    }
    if (unwanted.length > 0) void this.#leases.release(unwanted);
    this.#refillBelow = this.#ready.size - this.#limits.readyMax / 8;
    this.#pump();
  }

  /** Starts as many transactions as the limits allow. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    const { inFlightMax: wireMax, unrecordedMax, recipientsMax } = this.#limits;
    while (
      this.#running &&
      this.#stats.inFlight < wireMax &&
      this.#stats.unrecorded < unrecordedMax &&
      !this.#recorder.stalled
    ) {
      const taken = this.#ready.take(recipientsMax);
      if (!taken) break;
      this.#stats.inFlight += 1;
      this.#shares.acquire((taken.deliveries[0] as Delivery).message.workspaceId);
      this.#prepare(taken.deliveries, taken.limit);
    }
    this.#pumping = false;
    if (this.#claims.hasBacklog && this.#ready.size <= this.#refillBelow) this.#claims.wake();
  }

  #prepare(deliveries: Delivery[], limit: MailTransaction['limit']): void {
    const { message } = deliveries[0] as Delivery;
    const { needsContent } = this.#parts.transports[message.mode];
    const transaction: MailTransaction = { limit, message, deliveries, needsContent };
    let suspect = false;
    for (const delivery of deliveries) {
      delivery.state = 'preparing';
      suspect ||= delivery.suspect;
    }
    if (suspect || (needsContent && !message.content)) this.#loader.add(transaction);
    else this.#attempt(transaction);
  }

  #attempt(transaction: MailTransaction): void {
    const { clock, transports, nodeName } = this.#parts;
    const { message } = transaction;
    const nowMs = clock.now();
    const transport = transports[message.mode];
    const deliveries = transaction.deliveries.filter((delivery) =>
      this.#isStillDeliverable(delivery, nowMs),
    );
    if (transaction.needsContent && message.contentMissing) {
      for (const delivery of deliveries) {
        this.#record(failedOutcome(delivery, 'content_gone', nowMs, nodeName));
      }
      this.#finishTransaction(transaction);
      return;
    }
    if (deliveries.length === 0) {
      this.#finishTransaction(transaction);
      return;
    }
    for (const delivery of deliveries) delivery.state = 'sending';
    transport.attempt(message, deliveries).then(
      (reports) => this.#recordReports(transaction, deliveries, reports),
      (error: unknown) => {
        if (error instanceof NotPreparedError)
          this.#releaseUnprepared(transaction, deliveries, error);
        else this.#attemptFailed(transaction, deliveries, error);
      },
    );
  }

  /** Checks what may have changed while the delivery waited: cancelled, lease lost, expired. */
  #isStillDeliverable(delivery: Delivery, nowMs: number): boolean {
    const { nodeName, log } = this.#parts;
    if (delivery.state !== 'preparing') return false;
    if (!this.#running) {
      void this.#leases.release([delivery]);
      return false;
    }
    if (!this.#leases.isSafe(delivery, nowMs)) {
      log.warn({ messageId: delivery.message.id }, 'lease expired before the attempt');
      this.#stats.leasesLost += 1;
      this.#leases.drop(delivery);
      return false;
    }
    if (nowMs >= delivery.giveUpAtMs) {
      this.#record(expiredOutcome(delivery, nowMs, nodeName));
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
      // Aborted by our own stop before the message was handed over: not an attempt.
      if (!report || (report.end.kind === 'aborted' && !report.end.afterFinalDot)) {
        unfinished.push(delivery);
        return;
      }
      this.#record(
        attemptOutcome(delivery, report, {
          relay: report.relay ?? false,
          backoff: this.#limits.backoff,
          random: Math.random(),
          nowMs,
          node: nodeName,
        }),
      );
    });
    if (unfinished.length > 0) void this.#leases.release(unfinished);
    this.#finishTransaction(transaction);
  }

  /**
   * An internal error. The lease is left to expire, and the next claim counts it (lease-store.ts).
   */
  #attemptFailed(transaction: MailTransaction, deliveries: Delivery[], error: unknown): void {
    this.#stats.errors += 1;
    this.#parts.log.error(
      { err: error, messageId: transaction.message.id },
      'delivery attempt failed with an internal error',
    );
    for (const delivery of deliveries) this.#leases.drop(delivery);
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
    this.#parts.log.warn(
      { err: error, messageId: transaction.message.id },
      'message not prepared, database unavailable',
    );
    transaction.message.prepared = undefined;
    void this.#leases.release(deliveries, UNPREPARED_RETRY_MS);
    this.#finishTransaction(transaction);
  }

  #contentReadFailed(transactions: MailTransaction[], error: unknown): void {
    this.#parts.log.warn(
      { err: error, transactions: transactions.length },
      'reading message contents failed',
    );
    for (const transaction of transactions) {
      for (const delivery of transaction.deliveries) this.#leases.drop(delivery);
      this.#finishTransaction(transaction);
    }
  }

  #finishTransaction(transaction: MailTransaction): void {
    this.#stats.inFlight -= 1;
    this.#shares.release(transaction.message.workspaceId);
    this.#ready.capacityFreed();
    if (this.#stats.inFlight === 0) this.#onDrained?.();
    transaction.limit.release();
    this.#loader.wake();
    this.#pump();
  }

  #record(outcome: DeliveryOutcome): void {
    const { delivery } = outcome;
    delivery.state = 'recording';
    this.#stats.unrecorded += 1;
    this.#recorder.record(outcome).then(
      (written) => {
        if (written) this.#stats[outcome.status] += 1;
        else this.#logLostLease(outcome);
        this.#recorded(delivery);
      },
      (error: unknown) => {
        this.#parts.log.error({ err: error, messageId: delivery.message.id }, 'outcome lost');
        this.#recorded(delivery);
      },
    );
  }

  #logLostLease(outcome: DeliveryOutcome): void {
    this.#stats.leasesLost += 1;
    this.#parts.log.warn(
      { messageId: outcome.delivery.message.id, status: outcome.status },
      'outcome discarded, lease expired',
    );
  }

  #recorded(delivery: Delivery): void {
    this.#stats.unrecorded -= 1;
    this.#leases.drop(delivery);
    this.#pump();
  }
}
