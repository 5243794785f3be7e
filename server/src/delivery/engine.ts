import type { Mode } from '../accounts/mode.ts';
import type { Clock } from '../lib/clock.ts';
import { FairShares } from '../lib/fair-shares.ts';
import type { Log } from '../lib/log.ts';
import type { HandedOver, Handover, Lease } from '../messages/handover.ts';
import { ClaimLoop } from './claim-loop.ts';
import type { ClaimedRow } from './claim-store.ts';
import { ContentLoader, type Turn } from './content-loader.ts';
import type { AttemptReport, Delivery, Outcome, Route } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { DEFAULT_LIMITS, type EngineLimits } from './engine-limits.ts';
import { reserve, settle } from './hatch.ts';
import { areHere, HeldMessages } from './held-messages.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { endAtClaim, expired, failed, outcomeOf } from './outcome.ts';
import { NotPreparedError } from './outgoing-mail.ts';
import { leaveGate, ReadyList } from './ready-list.ts';
import { Recorder } from './recorder.ts';
import { type DeliveryStats, type MutableStats, statsIn, statsMemory } from './stats.ts';

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
  readonly stats: DeliveryStats;
}

export interface EngineParts {
  store: DeliveryStore;
  clock: Clock;
  routes: { live: Route; test: Route };
  log: Log;
  nodeName: string;
  limits?: Partial<EngineLimits>;
  /** Where its figures stand, when others look at them from another thread. */
  memory?: SharedArrayBuffer;
}

const STOP_DEADLINE_MS = 25_000;
const CUT_OFF_MS = 1_000;
const NOT_TRIED_REST_MS = 1_000;

export function createEngine(parts: EngineParts): Engine {
  return new DeliveryEngine(parts);
}

class DeliveryEngine implements Engine {
  readonly #parts: EngineParts;
  readonly #limits: EngineLimits;
  readonly #stats: MutableStats;
  readonly #held: HeldMessages;
  readonly #ready: ReadyList;
  readonly #shares: FairShares;
  readonly #recorder: Recorder;
  readonly #loader: ContentLoader;
  readonly #claims: ClaimLoop;
  readonly #leases: LeaseKeeper;
  #running = false;
  #pumping = false;
  /** When so few are left, it is time to claim more. */
  #claimBelow = 0;
  #wireEmpty: (() => void) | undefined;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const limits = { ...DEFAULT_LIMITS, ...parts.limits };
    this.#limits = limits;
    this.#stats = statsIn(parts.memory ?? statsMemory());
    const { clock, log, store, routes } = parts;
    this.#held = new HeldMessages(this.#stats);
    this.#shares = new FairShares(limits.wireMax);
    this.#ready = new ReadyList(
      (delivery) => routes[delivery.message.mode].gateFor(delivery.domain),
      this.#stats,
      (workspaceId) => this.#shares.mayEnter(workspaceId),
    );
    this.#recorder = new Recorder({
      write: store.record,
      findWritten: store.findRecorded,
      clock,
      log,
      onStalled: () => this.#openHatch(),
      onRecovered: () => {
        this.#openHatch();
        this.#pump();
      },
    });
    this.#leases = new LeaseKeeper({
      store,
      clock,
      log,
      held: this.#held,
      ready: this.#ready,
      stats: this.#stats,
      leaseMs: limits.leaseMs,
      expired: (delivery, nowMs) => this.#record(expired(delivery, nowMs, parts.nodeName)),
    });
    this.#loader = new ContentLoader({
      store,
      clock,
      leaseEndsAtMs: () => clock.now() + limits.leaseMs,
      ready: (turn) => this.#attempt(turn),
      broken: (turns, error) => this.#notPrepared(turns, error),
      kept: (bytes) => {
        this.#stats.contentBytes += bytes;
      },
      bytesHeld: () => this.#stats.contentBytes,
      bytesMax: limits.contentBytesMax,
      letGo: (bytes) => this.#held.letContentsGo(bytes),
      holders: () => this.#held.contentHolders(),
      smallBytesMax: Math.floor(limits.contentBytesMax / limits.wireMax),
    });
    this.#claims = new ClaimLoop({
      clock,
      stopwatchMs: () => performance.now(),
      log,
      walk: store.walk,
      claim: store.claim,
      findRange: store.findRange,
      room: () => this.#room(),
      admit: (rows, leaseEndsAtMs) => this.#admit(rows, leaseEndsAtMs),
      leaseMs: limits.leaseMs,
      windowMs: limits.windowMs,
      pollMs: limits.pollMs,
    });
  }

  get stats(): DeliveryStats {
    return this.#stats;
  }

  start(): void {
    this.#running = true;
    this.#openHatch();
    const { live, test } = this.#parts.routes;
    live.onOpen = test.onOpen = () => this.#pump();
    this.#claims.start();
    this.#leases.start();
  }

  wake(): void {
    this.#claims.notice();
  }

  reserve(count: number, bytes: number): Lease | undefined {
    const { clock } = this.#parts;
    return reserve({ stats: this.#stats, clock, limits: this.#limits }, count, bytes);
  }

  take(lease: Lease, accepted: readonly HandedOver[]): void {
    settle(this.#stats, lease);
    const taken = accepted.flatMap((handed) => this.#held.fromHandover(handed, lease));
    this.#stats.handedOver += taken.length;
    // Committed while we were told to stop: somebody else may have them at once.
    if (!this.#running) {
      void this.#leases.giveBack(taken);
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
    const deliveries = this.#held.of(workspaceId, mode, messageId);
    if (deliveries.length === 0 || !areHere(leased, deliveries)) return false;
    if (deliveries.some(({ place }) => place === 'wire' || place === 'done')) return false;
    for (const delivery of deliveries) this.#leases.drop(delivery);
    return true;
  }

  async stop(deadlineMs = STOP_DEADLINE_MS): Promise<void> {
    const { clock, routes } = this.#parts;
    const endsAtMs = clock.now() + deadlineMs;
    this.#running = false;
    this.#openHatch();
    await this.#claims.stop();
    await this.#leases.giveBack(this.#held.all().filter(({ place }) => place === 'ready'));
    await this.#wireDrained(deadlineMs);
    routes.live.abort();
    routes.test.abort();
    // What was cut off comes back in this moment, to be recorded or given back like the rest.
    await this.#wireDrained(CUT_OFF_MS);
    await Promise.all([
      this.#recorder.finish(Math.max(1_000, endsAtMs - clock.now())),
      this.#leases.givenBack(),
    ]);
    this.#leases.stop();
    await Promise.all([routes.live.close(), routes.test.close()]);
  }

  /** Or closes it: while nothing may go on the wire, what is accepted waits in storage. */
  #openHatch(): void {
    this.#stats.open = this.#running && !this.#recorder.stalled ? 1 : 0;
  }

  #wireDrained(deadlineMs: number): Promise<void> {
    if (this.#stats.onWire === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#parts.clock.after(deadlineMs, resolve);
      this.#wireEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #room(): { rowsMax: number; skipWorkspaces: string[] } {
    const { readyMax } = this.#limits;
    const blocked = this.#recorder.stalled || this.#stats.unrecorded >= this.#limits.unrecordedMax;
    const reserved = this.#stats.reserved - this.#stats.settled;
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
      const delivery = this.#held.fromClaim(row, leaseEndsAtMs, nowMs);
      const ended = endAtClaim(delivery, row, nowMs, nodeName);
      if (ended) this.#record(ended);
      else if (this.#running) this.#ready.add(delivery);
      else unwanted.push(delivery);
      if (ended?.reason === 'internal_fault') {
        const { message_id: messageId, ordinal } = row;
        log.error({ messageId, ordinal }, 'a delivery failed: every node that tried it lost it');
      }
    }
    if (unwanted.length > 0) void this.#leases.giveBack(unwanted);
    this.#claimBelow = this.#ready.size - this.#limits.readyMax / 8;
    this.#pump();
  }

  /** Puts on the wire what may go there. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    const { wireMax, unrecordedMax, recipientsMax } = this.#limits;
    while (
      this.#running &&
      this.#stats.onWire < wireMax &&
      this.#stats.unrecorded < unrecordedMax &&
      !this.#recorder.stalled
    ) {
      const taken = this.#ready.take(recipientsMax);
      if (!taken) break;
      this.#stats.onWire += 1;
      this.#shares.entered((taken.deliveries[0] as Delivery).message.workspaceId);
      this.#prepare(taken.deliveries, taken.gate);
    }
    this.#pumping = false;
    if (this.#claims.leftBehind && this.#ready.size <= this.#claimBelow) this.#claims.wake();
  }

  #prepare(deliveries: Delivery[], gate: Turn['gate']): void {
    const { message } = deliveries[0] as Delivery;
    const { needsContent } = this.#parts.routes[message.mode];
    const turn: Turn = { gate, message, deliveries, needsContent };
    let suspect = false;
    for (const delivery of deliveries) {
      delivery.place = 'preparing';
      suspect ||= delivery.suspect;
    }
    if (suspect || (needsContent && !message.content)) this.#loader.add(turn);
    else this.#attempt(turn);
  }

  #attempt(turn: Turn): void {
    const { clock, routes, nodeName } = this.#parts;
    const { message } = turn;
    const nowMs = clock.now();
    const route = routes[message.mode];
    const deliveries = turn.deliveries.filter((delivery) => this.#mayBeTried(delivery, nowMs));
    if (turn.needsContent && message.contentGone) {
      for (const delivery of deliveries) {
        this.#record(failed(delivery, 'content_gone', nowMs, nodeName));
      }
      this.#leaveWire(turn);
      return;
    }
    if (deliveries.length === 0) {
      this.#leaveWire(turn);
      return;
    }
    for (const delivery of deliveries) delivery.place = 'wire';
    route.attempt(message, deliveries).then(
      (reports) => this.#judge(turn, deliveries, reports),
      (error: unknown) => {
        if (error instanceof NotPreparedError) this.#notTried(turn, deliveries, error);
        else this.#fault(turn, deliveries, error);
      },
    );
  }

  /** Looks once more at what may have changed while it waited: cancelled, leased away, expired. */
  #mayBeTried(delivery: Delivery, nowMs: number): boolean {
    const { nodeName, log } = this.#parts;
    if (delivery.place !== 'preparing') return false;
    if (!this.#running) {
      void this.#leases.giveBack([delivery]);
      return false;
    }
    if (!this.#leases.holds(delivery, nowMs)) {
      log.warn(
        { messageId: delivery.message.id },
        'a lease ran out before the try: left to others',
      );
      this.#stats.leaseLost += 1;
      this.#leases.drop(delivery);
      return false;
    }
    if (nowMs >= delivery.givenUpAtMs) {
      this.#record(expired(delivery, nowMs, nodeName));
      return false;
    }
    return true;
  }

  #judge(turn: Turn, deliveries: Delivery[], reports: AttemptReport[]): void {
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
        outcomeOf(delivery, report, {
          relay: report.relay ?? false,
          backoff: this.#limits.backoff,
          random: Math.random(),
          nowMs,
          node: nodeName,
        }),
      );
    });
    if (unfinished.length > 0) void this.#leases.giveBack(unfinished);
    this.#leaveWire(turn);
  }

  /** Our bug. The lease stays and runs out; whoever claims it next counts it (lease.ts). */
  #fault(turn: Turn, deliveries: Delivery[], error: unknown): void {
    this.#stats.faults += 1;
    this.#parts.log.error({ err: error, messageId: turn.message.id }, 'an attempt broke off');
    for (const delivery of deliveries) this.#leases.drop(delivery);
    this.#leaveWire(turn);
  }

  /** Without suspicion, and not at once: whoever claims them next may find no database either. */
  #notTried(turn: Turn, deliveries: Delivery[], error: NotPreparedError): void {
    this.#parts.log.warn({ err: error, messageId: turn.message.id }, 'a message waits for storage');
    turn.message.prepared = undefined;
    void this.#leases.giveBack(deliveries, NOT_TRIED_REST_MS);
    this.#leaveWire(turn);
  }

  #notPrepared(turns: Turn[], error: unknown): void {
    this.#parts.log.warn({ err: error, turns: turns.length }, 'contents could not be read');
    for (const turn of turns) {
      for (const delivery of turn.deliveries) this.#leases.drop(delivery);
      this.#leaveWire(turn);
    }
  }

  #leaveWire(turn: Turn): void {
    this.#stats.onWire -= 1;
    this.#shares.left(turn.message.workspaceId);
    this.#ready.roomOnWire();
    if (this.#stats.onWire === 0) this.#wireEmpty?.();
    leaveGate(turn.gate);
    this.#loader.wake();
    this.#pump();
  }

  #record(outcome: Outcome): void {
    const { delivery } = outcome;
    delivery.place = 'done';
    this.#stats.unrecorded += 1;
    this.#recorder.record(outcome).then(
      (written) => {
        if (written) this.#stats[outcome.status] += 1;
        else this.#lostLease(outcome);
        this.#recorded(delivery);
      },
      (error: unknown) => {
        this.#parts.log.error({ err: error, messageId: delivery.message.id }, 'a result was lost');
        this.#recorded(delivery);
      },
    );
  }

  #lostLease(outcome: Outcome): void {
    this.#stats.leaseLost += 1;
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
