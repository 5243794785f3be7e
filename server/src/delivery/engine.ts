import type { Mode } from '../accounts/tenant-scope.ts';
import type { Log } from '../lib/log.ts';
import { onceInLoopBatch } from '../lib/scheduling/loop-batch.ts';
import type { Clock } from '../lib/time/clock.ts';
import type {
  DeliveryHandoff,
  HandedOffMessage,
  Lease,
} from '../messages/accept/delivery-handoff.ts';
import { InFlight } from '../queue/in-flight.ts';
import { type LeaseHolder, soleHolder } from '../queue/lease-holder.ts';
import { LeaseKeeper } from '../queue/lease-keeper.ts';
import { ReadyQueue } from '../queue/ready-queue.ts';
import { WithheldWorkspaces } from '../queue/withheld-workspaces.ts';
import { DeliveryClaims } from './claims/delivery-claims.ts';
import type { DeliveryStore } from './claims/delivery-store.ts';
import { releaseReservation, reserveCapacity } from './claims/handoff.ts';
import { includesAll, LeasedMessages } from './claims/leased-messages.ts';
import { ReadyLimit } from './claims/ready-limit.ts';
import type { Delivery, Transport } from './delivery.ts';
import { type EngineLimits, READY_GROWTH_MAX } from './engine-limits.ts';
import {
  allocateStatsMemory,
  type EngineStats,
  type MutableEngineStats,
  sharedStats,
} from './engine-stats.ts';
import { expiredOutcome } from './outcomes/delivery-outcome.ts';
import { OutcomeRecorder } from './outcomes/outcome-recorder.ts';
import { TransactionRunner } from './transport/transaction-runner.ts';

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

/** An engine in this thread. One in another thread listens there. */
export interface LocalEngine extends Engine {
  /** Releases what is not being sent, and claims and starts nothing for a few seconds. */
  withhold(workspaceId: string): void;
}

export interface EngineParts {
  store: DeliveryStore;
  clock: Clock;
  transports: { live: Transport; test: Transport };
  log: Log;
  nodeName: string;
  limits: EngineLimits;
  holder?: LeaseHolder;
  /** Memory for the stats when another thread reads them. */
  memory?: SharedArrayBuffer;
}

const STOP_DEADLINE_MS = 25_000;
const ABORT_GRACE_MS = 1_000;

export function createEngine(parts: EngineParts): LocalEngine {
  return new DeliveryEngine(parts);
}

class DeliveryEngine implements LocalEngine {
  readonly #parts: EngineParts;
  readonly #limits: EngineLimits;
  readonly #stats: MutableEngineStats;
  readonly #leased: LeasedMessages;
  readonly #ready: ReadyQueue<Delivery>;
  readonly #readyLimit: ReadyLimit;
  readonly #inFlight: InFlight;
  readonly #recorder: OutcomeRecorder;
  readonly #transactions: TransactionRunner;
  readonly #claims: DeliveryClaims;
  readonly #holder: LeaseHolder;
  readonly #leases: LeaseKeeper<Delivery>;
  readonly #withheld: WithheldWorkspaces;
  /** Results that arrive together are taken in before the next transactions start. */
  readonly #pumpSoon = onceInLoopBatch(() => this.#pump());
  #running = false;
  #pumping = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { clock, log, store, transports, limits } = parts;
    this.#limits = limits;
    this.#holder = parts.holder ?? soleHolder;
    this.#withheld = new WithheldWorkspaces(clock);
    this.#stats = sharedStats(parts.memory ?? allocateStatsMemory());
    this.#leased = new LeasedMessages(this.#stats);
    this.#readyLimit = new ReadyLimit({
      clock,
      min: limits.readyMax,
      max: limits.readyMax * READY_GROWTH_MAX,
      isAlone: () => this.#holder.isAlone,
    });
    this.#stats.readyLimit = this.#readyLimit.current;
    this.#inFlight = new InFlight(limits.inFlightMax, this.#stats);
    this.#ready = new ReadyQueue({
      workspaceOf: ({ message }) => message.workspaceId,
      // Test mail never waits behind live mail to the same domain, nor vice versa.
      // Each route has limits of its own.
      receiverOf: ({ message: { mode, route }, domain }) =>
        route === null ? mode + domain : `${mode}${route} ${domain}`,
      limitFor: ({ message, domain }) =>
        transports[message.mode].limitFor(domain, message.workspaceId, message.route),
      mayTake: (workspaceId) => this.#inFlight.mayStart(workspaceId),
      sharesTransaction,
      stats: this.#stats,
    });
    this.#recorder = new OutcomeRecorder({
      store,
      clock,
      log,
      stats: this.#stats,
      claimed: () => this.#claims.claimed(),
      onStalled: () => this.#updateAccepting(),
      onRecovered: () => {
        this.#updateAccepting();
        this.#pump();
      },
      onFinished: ({ delivery }) => {
        this.#leases.drop(delivery);
        this.#pumpSoon();
      },
    });
    this.#leases = new LeaseKeeper({
      store,
      clock,
      log,
      ready: this.#ready,
      held: () => this.#leased.all(),
      onDropped: (delivery) => this.#leased.remove(delivery),
      onLost: () => {
        this.#stats.leasesLost += 1;
      },
      expire: (delivery, nowMs) => this.#expire(delivery, nowMs),
      pump: () => {
        this.#updateAccepting();
        this.#updateReadyLimit();
        this.#pump();
      },
      // The pace and the state of the holder change while nothing is held, except where it is the only one.
      pumpsAlways: this.#holder !== soleHolder,
      leaseMs: limits.leaseMs,
    });
    this.#transactions = new TransactionRunner({
      ...parts,
      stats: this.#stats,
      leased: this.#leased,
      leases: this.#leases,
      mayStart: (delivery) => this.#running && this.#mayContinue(delivery),
      mayTransmit: (delivery) => this.#mayContinue(delivery),
      record: (outcome) => this.#recorder.record(outcome),
      requeue: (delivery) => this.#ready.add(delivery),
      onFinished: ({ message, limit }) => {
        this.#inFlight.end(message.workspaceId);
        this.#ready.capacityFreed();
        limit.release();
        this.#pumpSoon();
      },
    });
    this.#claims = new DeliveryClaims({
      ...parts,
      stats: this.#stats,
      holder: this.#holder,
      leased: this.#leased,
      leases: this.#leases,
      ready: this.#ready,
      withheld: this.#withheld,
      recorder: this.#recorder,
      isRunning: () => this.#running,
      onAdmitted: () => this.#pump(),
    });
  }

  get stats(): EngineStats {
    return this.#stats;
  }

  start(): void {
    this.#running = true;
    this.#updateAccepting();
    const { live, test } = this.#parts.transports;
    live.onCapacity = test.onCapacity = this.#pumpSoon;
    live.onThrottleChange = (count) => {
      this.#stats.throttled = count;
    };
    live.start?.();
    this.#holder.start({
      onChange: () => {
        this.#updateAccepting();
        this.#claims.wake();
        this.#pump();
      },
      onLost: () => this.#leases.loseAll(),
      onTakeover: () => this.wake(),
    });
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
    this.#leases.added();
    this.#claims.expectRows();
    // Committed after stop was requested, or under a lease that has been taken over since: any node can
    // claim them at once.
    if (!this.#running || !this.#holder.issued(lease.token)) {
      void this.#leases.release(taken);
      return;
    }
    const withheld = taken.filter(({ message }) => this.#withheld.has(message.workspaceId));
    if (withheld.length > 0) void this.#leases.release(withheld);
    for (const delivery of taken) if (delivery.state === 'leased') this.#ready.add(delivery);
    this.#pump();
  }

  leave(): void {
    this.#claims.expectRows();
  }

  withhold(workspaceId: string): void {
    this.#withheld.add(workspaceId);
    const waiting = this.#leased
      .all()
      .filter(({ state, message }) => state === 'ready' && message.workspaceId === workspaceId);
    void this.#leases.release(waiting);
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
    await this.#inFlight.drained(clock, deadlineMs);
    transports.live.abort();
    transports.test.abort();
    // Aborted transactions end now, and are recorded or released like the rest.
    await this.#inFlight.drained(clock, ABORT_GRACE_MS);
    await Promise.all([
      this.#recorder.finish(Math.max(1_000, endsAtMs - clock.now())),
      this.#leases.released(),
    ]);
    this.#leases.stop();
    await this.#holder.stop(this.#leased.all().length === 0);
    await Promise.all([transports.live.close(), transports.test.close()]);
  }

  /** While nothing may be sent, accepted messages wait in the database. */
  #updateAccepting(): void {
    const { id, isAlive } = this.#holder;
    this.#stats.holderId = id;
    this.#stats.accepting = this.#running && !this.#recorder.stalled && isAlive ? 1 : 0;
  }

  #updateReadyLimit(): void {
    const { delivered, deferred, bounced, failed } = this.#stats;
    this.#readyLimit.update(delivered + deferred + bounced + failed);
    this.#stats.readyLimit = this.#readyLimit.current;
  }

  /** Starts as many transactions as the limits allow. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    const { unrecordedMax, recipientsMax } = this.#limits;
    while (
      this.#running &&
      !this.#inFlight.isFull &&
      this.#stats.unrecorded < unrecordedMax &&
      !this.#recorder.stalled &&
      this.#holder.isAlive
    ) {
      const taken = this.#ready.take(recipientsMax);
      if (!taken) break;
      const { message } = taken.items[0] as Delivery;
      this.#inFlight.start(message.workspaceId);
      this.#transactions.start(message, taken.items, taken.limit);
    }
    this.#pumping = false;
    this.#claims.refill();
  }

  /** Whether no other node can have taken over the delivery, and its workspace is not about to leave. */
  #mayContinue({ lease, message }: Delivery): boolean {
    return this.#holder.holds(lease) && !this.#withheld.has(message.workspaceId);
  }

  /** Ends a delivery whose retry window or ttl ended while it waited here. */
  #expire(delivery: Delivery, nowMs: number): boolean {
    if (nowMs < delivery.giveUpAtMs) return false;
    this.#ready.remove(delivery, 'recording');
    this.#recorder.record(expiredOutcome(delivery, nowMs, this.#parts.nodeName));
    return true;
  }
}

/**
 * Recipients of one message at one domain share a transaction. A blind copy is sent alone (RFC 5321
 * section 7.2): receivers may show all recipients of a transaction to each of them.
 */
function sharesTransaction(first: Delivery, next: Delivery): boolean {
  return next.message === first.message && !first.isBlindCopy && !next.isBlindCopy;
}
