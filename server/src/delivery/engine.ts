import type { Mode } from '../accounts/tenant-scope.ts';
import type { Clock } from '../lib/clock.ts';
import { FairShares } from '../lib/fair-shares.ts';
import type { Log } from '../lib/log.ts';
import type { HandedOver, Handover, Lease } from '../messages/accept/delivery-handoff.ts';
import { ClaimLoop } from './claim-loop.ts';
import type { ClaimedRow } from './claim-store.ts';
import { ContentLoader, type MailTransaction } from './content-loader.ts';
import type { AttemptReport, Delivery, DeliveryOutcome, Transport } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { DEFAULT_LIMITS, type EngineLimits } from './engine-limits.ts';
import { reserveCapacity, releaseReservation } from './handoff.ts';
import { includesAll, LeasedMessages } from './leased-messages.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { outcomeAtClaim, expiredOutcome, failedOutcome, attemptOutcome } from './delivery-outcome.ts';
import { NotPreparedError } from './outgoing-mail.ts';
import { leaveGate, ReadyQueue } from './ready-queue.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';
import { type EngineStats, type MutableEngineStats, sharedStats, allocateStatsMemory } from './engine-stats.ts';

/**
 * The delivery engine: claim → prepare → attempt → verdict → record. Deliveries come in by claims
 * and, born leased, straight from accepting; what leaves is one committed outcome for each. It
 * promises: an attempt begins only under a lease; an outcome is written only while the lease holds;
 * memory is bounded however much waits; no tenant and no receiver holds up another; and what is not
 * finished when the process ends, by a stop or by a crash, is taken up by whoever is left.
 */
export interface Engine extends Handover {
  start(): void;
  /** Finishes what is on the wire, gives the rest back. */
  stop(deadlineMs?: number): Promise<void>;
  /** Rows may have become due: another node, a retry or a new schedule says so. */
  wake(): void;
  readonly stats: EngineStats;
}

export interface EngineParts {
  store: DeliveryStore;
  clock: Clock;
  transports: { live: Transport; test: Transport };
  log: Log;
  nodeName: string;
  limits?: Partial<EngineLimits>;
  /** Where its figures stand, when others look at them from another thread. */
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
  /** When so few are left, it is time to claim more. */
  #refillBelow = 0;
  #onDrained: (() => void) | undefined;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const limits = { ...DEFAULT_LIMITS, ...parts.limits };
    this.#limits = limits;
    this.#stats = sharedStats(parts.memory ?? allocateStatsMemory());
    const { clock, log, store, transports: routes } = parts;
    this.#leased = new LeasedMessages(this.#stats);
    this.#shares = new FairShares(limits.inFlightMax);
    this.#ready = new ReadyQueue(
      (delivery) => routes[delivery.message.mode].limitFor(delivery.domain),
      this.#stats,
      (workspaceId) => this.#shares.mayEnter(workspaceId),
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
      onReady: (turn) => this.#attempt(turn),
      onError: (turns, error) => this.#contentReadFailed(turns, error),
      onLoaded: (bytes) => {
        this.#stats.contentBytes += bytes;
      },
      bytesHeld: () => this.#stats.contentBytes,
      bytesMax: limits.contentBytesMax,
      evict: (bytes) => this.#leased.evictContents(bytes),
      workspacesWithContent: () => this.#leased.workspacesWithContent(),
      smallBytesMax: Math.floor(limits.contentBytesMax / limits.inFlightMax),
    });
    this.#claims = new ClaimLoop({
      clock,
      stopwatchMs: () => performance.now(),
      log,
      scan: store.walk,
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

  reserve(count: number, bytes: number): Lease | undefined {
    const { clock } = this.#parts;
    return reserveCapacity({ stats: this.#stats, clock, limits: this.#limits }, count, bytes);
  }

  take(lease: Lease, accepted: readonly HandedOver[]): void {
    releaseReservation(this.#stats, lease);
    const taken = accepted.flatMap((handed) => this.#leased.addHandoff(handed, lease));
    this.#stats.handedOff += taken.length;
    // Committed while we were told to stop: somebody else may have them at once.
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
    if (deliveries.some(({ state: place }) => place === 'wire' || place === 'done')) return false;
    for (const delivery of deliveries) this.#leases.drop(delivery);
    return true;
  }

  async stop(deadlineMs = STOP_DEADLINE_MS): Promise<void> {
    const { clock, transports: routes } = this.#parts;
    const endsAtMs = clock.now() + deadlineMs;
    this.#running = false;
    this.#updateAccepting();
    await this.#claims.stop();
    await this.#leases.release(this.#leased.all().filter(({ state: place }) => place === 'ready'));
    await this.#drained(deadlineMs);
    routes.live.abort();
    routes.test.abort();
    // What was cut off comes back in this moment, to be recorded or given back like the rest.
    await this.#drained(ABORT_GRACE_MS);
    await Promise.all([
      this.#recorder.finish(Math.max(1_000, endsAtMs - clock.now())),
      this.#leases.released(),
    ]);
    this.#leases.stop();
    await Promise.all([routes.live.close(), routes.test.close()]);
  }

  /** Or closes it: while nothing may go on the wire, what is accepted waits in storage. */
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
    // A nearly full list is left alone: many small claims cost more than few large ones.
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
      if (ended?.reason === 'internal_fault') {
        const { message_id: messageId, ordinal } = row;
        log.error({ messageId, ordinal }, 'a delivery failed: every node that tried it lost it');
      }
    }
    if (unwanted.length > 0) void this.#leases.release(unwanted);
    this.#refillBelow = this.#ready.size - this.#limits.readyMax / 8;
    this.#pump();
  }

  /** Puts on the wire what may go there. */
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
      this.#shares.entered((taken.deliveries[0] as Delivery).message.workspaceId);
      this.#prepare(taken.deliveries, taken.gate);
    }
    this.#pumping = false;
    if (this.#claims.leftBehind && this.#ready.size <= this.#refillBelow) this.#claims.wake();
  }

  #prepare(deliveries: Delivery[], gate: MailTransaction['limit']): void {
    const { message } = deliveries[0] as Delivery;
    const { needsContent } = this.#parts.transports[message.mode];
    const turn: MailTransaction = { limit: gate, message, deliveries, needsContent };
    let suspect = false;
    for (const delivery of deliveries) {
      delivery.state = 'preparing';
      suspect ||= delivery.suspect;
    }
    if (suspect || (needsContent && !message.content)) this.#loader.add(turn);
    else this.#attempt(turn);
  }

  #attempt(turn: MailTransaction): void {
    const { clock, transports: routes, nodeName } = this.#parts;
    const { message } = turn;
    const nowMs = clock.now();
    const route = routes[message.mode];
    const deliveries = turn.deliveries.filter((delivery) => this.#isStillDeliverable(delivery, nowMs));
    if (turn.needsContent && message.contentMissing) {
      for (const delivery of deliveries) {
        this.#record(failedOutcome(delivery, 'content_gone', nowMs, nodeName));
      }
      this.#finishTransaction(turn);
      return;
    }
    if (deliveries.length === 0) {
      this.#finishTransaction(turn);
      return;
    }
    for (const delivery of deliveries) delivery.state = 'wire';
    route.attempt(message, deliveries).then(
      (reports) => this.#recordReports(turn, deliveries, reports),
      (error: unknown) => {
        if (error instanceof NotPreparedError) this.#releaseUnprepared(turn, deliveries, error);
        else this.#attemptFailed(turn, deliveries, error);
      },
    );
  }

  /** Looks once more at what may have changed while it waited: cancelled, leased away, expired. */
  #isStillDeliverable(delivery: Delivery, nowMs: number): boolean {
    const { nodeName, log } = this.#parts;
    if (delivery.state !== 'preparing') return false;
    if (!this.#running) {
      void this.#leases.release([delivery]);
      return false;
    }
    if (!this.#leases.isSafe(delivery, nowMs)) {
      log.warn(
        { messageId: delivery.message.id },
        'a lease ran out before the try: left to others',
      );
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

  #recordReports(turn: MailTransaction, deliveries: Delivery[], reports: AttemptReport[]): void {
    const { clock, nodeName } = this.#parts;
    const nowMs = clock.now();
    const unfinished: Delivery[] = [];
    deliveries.forEach((delivery, index) => {
      const report = reports[index];
      // Cut off by our own stop before it was handed over: it was no try.
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
    this.#finishTransaction(turn);
  }

  /** Our bug. The lease stays and runs out; whoever claims it next counts it (lease.ts). */
  #attemptFailed(turn: MailTransaction, deliveries: Delivery[], error: unknown): void {
    this.#stats.errors += 1;
    this.#parts.log.error({ err: error, messageId: turn.message.id }, 'an attempt broke off');
    for (const delivery of deliveries) this.#leases.drop(delivery);
    this.#finishTransaction(turn);
  }

  /** Without suspicion, and not at once: whoever claims them next may find no database either. */
  #releaseUnprepared(turn: MailTransaction, deliveries: Delivery[], error: NotPreparedError): void {
    this.#parts.log.warn({ err: error, messageId: turn.message.id }, 'a message waits for storage');
    turn.message.prepared = undefined;
    void this.#leases.release(deliveries, UNPREPARED_RETRY_MS);
    this.#finishTransaction(turn);
  }

  #contentReadFailed(turns: MailTransaction[], error: unknown): void {
    this.#parts.log.warn({ err: error, turns: turns.length }, 'contents could not be read');
    for (const turn of turns) {
      for (const delivery of turn.deliveries) this.#leases.drop(delivery);
      this.#finishTransaction(turn);
    }
  }

  #finishTransaction(turn: MailTransaction): void {
    this.#stats.inFlight -= 1;
    this.#shares.left(turn.message.workspaceId);
    this.#ready.capacityFreed();
    if (this.#stats.inFlight === 0) this.#onDrained?.();
    leaveGate(turn.limit);
    this.#loader.wake();
    this.#pump();
  }

  #record(outcome: DeliveryOutcome): void {
    const { delivery } = outcome;
    delivery.state = 'done';
    this.#stats.unrecorded += 1;
    this.#recorder.record(outcome).then(
      (written) => {
        if (written) this.#stats[outcome.status] += 1;
        else this.#logLostLease(outcome);
        this.#recorded(delivery);
      },
      (error: unknown) => {
        this.#parts.log.error({ err: error, messageId: delivery.message.id }, 'a result was lost');
        this.#recorded(delivery);
      },
    );
  }

  #logLostLease(outcome: DeliveryOutcome): void {
    this.#stats.leasesLost += 1;
    this.#parts.log.warn(
      { messageId: outcome.delivery.message.id, status: outcome.status },
      'a result came after its lease had ended: not written',
    );
  }

  #recorded(delivery: Delivery): void {
    this.#stats.unrecorded -= 1;
    this.#leases.drop(delivery);
    this.#pump();
  }
}
