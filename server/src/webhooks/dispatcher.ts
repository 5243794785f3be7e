import { randomBytes } from 'node:crypto';
import { PatientWrites, WritesStoppedError } from '../db/patient-writes.ts';
import { isStorageGone } from '../db/storage-gone.ts';
import type { Clock } from '../lib/clock.ts';
import { FairShares } from '../lib/fair-shares.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { WorkLoop } from '../lib/work-loop.ts';
import type { LeasedRow, LeaseTerms, Rooms } from './fan-out-store.ts';
import { type Held, Lane } from './lane.ts';
import { Pace } from './pace.ts';
import type { Tried } from './try-delivery.ts';
import {
  type ClaimCursor,
  type Claimed,
  ROUND_START,
  type TryResult,
} from './webhook-queue-store.ts';

/**
 * Sends events to endpoints: follows the ledger, holds a bounded number of deliveries under leases,
 * tries them, and writes what came of it in shared commits. It promises at least once: what a
 * process held when it died is taken over when its lease runs out. While the database is gone results
 * wait, and nothing more is posted than can be remembered. No endpoint waits for another, no
 * workspace for another's, and memory is the same whether ten deliveries wait or a million.
 */
export interface DispatcherParts {
  store: DispatchStore;
  /** Makes one try; never throws for what the other side does. */
  attempt: (row: LeasedRow) => Promise<Tried | undefined>;
  /** Switches an endpoint off that has the address which was tried, and tells of it. */
  disable: (
    row: LeasedRow,
    found: { reason: NonNullable<Tried['disable']>; url: string },
  ) => Promise<void>;
  /** How often this very process has committed something of mail: see pace.ts. */
  mailCommits?: () => number;
  clock: Clock;
  log: Log;
  limits?: Partial<DispatcherLimits>;
}

/** What the dispatcher asks of the database. */
export interface DispatchStore {
  anyEnabled: () => Promise<boolean>;
  skipAhead: () => Promise<void>;
  fanOut: (
    eventsMax: number,
    rooms: Rooms,
    terms: LeaseTerms,
  ) => Promise<{ seen: number; made: number; leased: LeasedRow[] }>;
  claim: (after: ClaimCursor, rooms: Rooms, terms: LeaseTerms) => Promise<Claimed>;
  release: (rows: readonly LeasedRow[], lease: number, nowMs: number) => Promise<void>;
  endOrphans: (nowMs: number, limit: number) => Promise<number>;
  record: (results: readonly TryResult[]) => Promise<boolean[]>;
}

export interface DispatcherLimits {
  leaseMs: number;
  /** Tries on the wire at a time, in all and of one endpoint. */
  wireMax: number;
  perEndpointMax: number;
  readyMax: number;
  /** The longest rest of the follower, and of the look for what is due. */
  pollMs: number;
  claimMs: number;
}

const DEFAULT_LIMITS: DispatcherLimits = {
  leaseMs: 60_000,
  wireMax: 100,
  perEndpointMax: 16,
  readyMax: 2_000,
  pollMs: 200,
  claimMs: 500,
};

/** Below this a try might outlive its lease: 15 seconds, and time to write the result. */
const LEASE_LEFT_MIN_MS = 20_000;
const EVENTS_AT_A_TIME = 1_000;
const FOLLOW_SOON_MS = 5;
const FOLLOW_HELD_MS = 250;
const READY_HELD_MAX = 200;
/** Of an endpoint that this node knows nothing of. */
const ROOM_STANDARD = 16;
const SKIP_AHEAD_MS = 10_000;
const LISTENED_MS = 5_000;
const CLAIM_SOON_MS = 10;
const RESULT_SPACING_MS = 20;
const LANES_MAX = 10_000;
const SWEEP_MS = 60_000;
const ORPHANS_AT_A_TIME = 1_000;

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #limits: DispatcherLimits;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with something ready, in the order of their next turn. */
  readonly #turns = new Set<Lane>();
  readonly #shares: FairShares;
  readonly #pace: Pace;
  readonly #writes: PatientWrites;
  readonly #results: GroupCommit<TryResult, boolean>;
  readonly #following: WorkLoop;
  readonly #claiming: WorkLoop;
  readonly stats = { inFlight: 0, ready: 0, succeeded: 0, failed: 0, fannedOut: 0 };
  #cursor = ROUND_START;
  #skippedAtMs = Number.NEGATIVE_INFINITY;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  #listenedUntilMs = Number.NEGATIVE_INFINITY;
  #followTookMs = 0;
  /** More is due in the database than this node holds. */
  #leftBehind = false;
  #claimSoon = false;
  #running = false;
  #wireEmpty: (() => void) | undefined;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#limits = { ...DEFAULT_LIMITS, ...parts.limits };
    const { clock, log, store, mailCommits = () => 0 } = parts;
    this.#shares = new FairShares(this.#limits.wireMax);
    this.#pace = new Pace({ clock, mailCommits });
    this.#writes = new PatientWrites({
      what: 'results of webhooks',
      clock,
      log,
      onRecovered: () => this.#pump(),
    });
    this.#results = new GroupCommit({
      commit: (results) => this.#writes.outlast(results.length, () => store.record(results)),
      isItemFault: (error) => !(error instanceof WritesStoppedError),
      groupItemsMax: 200,
      groupBytesMax: 4 * 1024 * 1024,
      // Nobody waits for them, and larger groups cost less than a second writer gains.
      groupsInFlightMax: 1,
      spacingMs: RESULT_SPACING_MS,
      waitingItemsMax: Number.POSITIVE_INFINITY,
      waitingBytesMax: Number.POSITIVE_INFINITY,
    });
    this.#following = new WorkLoop({
      clock,
      log,
      purpose: 'following events for webhooks',
      work: () => this.#fanOut(),
      idleMs: this.#limits.pollMs,
      soonMs: FOLLOW_SOON_MS,
      spacingMs: () => this.#followSpacingMs(),
    });
    this.#claiming = new WorkLoop({
      clock,
      log,
      purpose: 'claiming webhook deliveries',
      work: () => this.#claim(),
      idleMs: this.#limits.claimMs,
    });
  }

  start(): void {
    this.#running = true;
    this.#following.start();
    this.#claiming.start();
  }

  /** Events were appended. */
  wake(): void {
    this.#following.wake();
  }

  /** Deliveries became due: a replay says so. */
  wakeClaims(): void {
    this.#claiming.wake();
  }

  /** Finishes what is on the wire, gives the rest back. */
  async stop(deadlineMs: number): Promise<void> {
    this.#running = false;
    const goOn = this.#writes.giveUpIn(deadlineMs);
    await Promise.all([this.#following.stop(), this.#claiming.stop()]);
    await this.#giveBack();
    if (this.stats.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#wireEmpty = resolve;
        this.#parts.clock.after(deadlineMs, resolve);
      });
    }
    await this.#results.drained();
    goOn();
  }

  /** Never more than a tenth of the time, and while mail comes first seldom and much at once. */
  #followSpacingMs(): number {
    if (this.#pace.held) return FOLLOW_HELD_MS;
    return Math.min(FOLLOW_HELD_MS, Math.max(FOLLOW_SOON_MS, 10 * this.#followTookMs));
  }

  /** True when there may be more at once. */
  async #fanOut(): Promise<boolean> {
    const { store, clock } = this.#parts;
    if (!(await this.#anybodyListens())) return false;
    const terms = this.#terms();
    const { seen, made, leased } = await store.fanOut(EVENTS_AT_A_TIME, this.#rooms(), terms);
    this.#followTookMs = clock.now() - terms.nowMs;
    this.stats.fannedOut += made;
    this.#pace.seen(seen);
    if (made > leased.length) this.#leftBehind = true;
    this.#admit(leased, terms);
    return seen === EVENTS_AT_A_TIME;
  }

  /** Where nobody has an endpoint, the ledger is not read at all. */
  async #anybodyListens(): Promise<boolean> {
    const { store, clock } = this.#parts;
    const nowMs = clock.now();
    if (nowMs < this.#listenedUntilMs) return true;
    if (await store.anyEnabled()) {
      this.#listenedUntilMs = nowMs + LISTENED_MS;
      return true;
    }
    if (nowMs - this.#skippedAtMs >= SKIP_AHEAD_MS) {
      this.#skippedAtMs = nowMs;
      await store.skipAhead();
    }
    return false;
  }

  /** True when the round of all endpoints has not come to its end. */
  async #claim(): Promise<boolean> {
    this.#pump();
    await this.#forgetTheGone();
    const rooms = this.#rooms();
    if (rooms.total <= 0) return false;
    const terms = this.#terms();
    const startedMidway = this.#cursor !== ROUND_START;
    const { rows, cursor } = await this.#parts.store.claim(this.#cursor, rooms, terms);
    this.#cursor = cursor ?? ROUND_START;
    this.#leftBehind = rows.length > 0 || cursor !== undefined;
    this.#admit(rows, terms);
    return cursor !== undefined || (startedMidway && rows.length > 0);
  }

  #terms(): LeaseTerms {
    const nowMs = this.#parts.clock.now();
    return { nowMs, lease: newLease(), leaseEndsAtMs: nowMs + this.#limits.leaseMs };
  }

  #rooms(): Rooms {
    const nowMs = this.#parts.clock.now();
    const byWebhook = [...this.#lanes.values()].map((lane) => ({
      id: lane.webhookId,
      room: lane.room(nowMs),
    }));
    const readyMax = this.#pace.held ? READY_HELD_MAX : this.#limits.readyMax;
    const total = this.#running ? Math.max(0, readyMax - this.stats.ready) : 0;
    return { standard: ROOM_STANDARD, byWebhook, total };
  }

  #admit(rows: readonly LeasedRow[], { lease, leaseEndsAtMs, nowMs }: LeaseTerms): void {
    for (const row of rows) {
      const lane = this.#laneOf(row.webhook_id);
      lane.add({ row, lease, leaseEndsAtMs });
      lane.usedAtMs = nowMs;
      this.#turns.add(lane);
      this.stats.ready += 1;
    }
    this.#pump();
  }

  #laneOf(webhookId: string): Lane {
    const known = this.#lanes.get(webhookId);
    if (known) return known;
    if (this.#lanes.size >= LANES_MAX) {
      for (const [id, lane] of this.#lanes) if (lane.forgettable) this.#lanes.delete(id);
    }
    const lane = new Lane(webhookId, this.#limits.perEndpointMax);
    this.#lanes.set(webhookId, lane);
    return lane;
  }

  /**
   * Endpoints come and go. Every look at the queue goes past all that something waits for, and names
   * those that are known here: what is left of the gone would make it dearer for ever.
   */
  async #forgetTheGone(): Promise<void> {
    const nowMs = this.#parts.clock.now();
    if (nowMs - this.#sweptAtMs < SWEEP_MS) return;
    for (const [id, lane] of this.#lanes) if (lane.isAbandoned(nowMs)) this.#lanes.delete(id);
    const ended = await this.#parts.store.endOrphans(nowMs, ORPHANS_AT_A_TIME);
    if (ended < ORPHANS_AT_A_TIME) this.#sweptAtMs = nowMs;
  }

  /** One of each lane in turn, as long as the wire has room. */
  #pump(): void {
    if (this.#writes.stalled) return;
    const nowMs = this.#parts.clock.now();
    let idle = 0;
    while (this.#running && this.stats.inFlight < this.#limits.wireMax && idle < this.#turns.size) {
      const [lane] = this.#turns;
      if (!lane) return;
      this.#turns.delete(lane);
      if (lane.waiting === 0) continue;
      this.#turns.add(lane);
      if (!lane.mayStart(nowMs) || !this.#shares.mayEnter(lane.workspaceId ?? '')) {
        idle += 1;
        continue;
      }
      if (!this.#pace.take()) return;
      idle = 0;
      this.#startNext(lane, nowMs);
    }
  }

  #startNext(lane: Lane, nowMs: number): void {
    const held = lane.take();
    if (!held) return;
    this.stats.ready -= 1;
    if (held.leaseEndsAtMs - nowMs < LEASE_LEFT_MIN_MS) {
      // It waited too long: it becomes due by itself, and is claimed anew.
      this.#leftBehind = true;
      return;
    }
    lane.inFlight += 1;
    this.stats.inFlight += 1;
    this.#shares.entered(held.row.workspace_id);
    void this.#try(lane, held).catch((error: unknown) => {
      const level = isStorageGone(error) ? 'warn' : 'error';
      this.#parts.log[level]({ err: error }, 'a webhook could not be tried');
    });
  }

  async #try(lane: Lane, held: Held): Promise<void> {
    let tried: Tried | undefined;
    try {
      tried = await this.#parts.attempt(held.row);
      this.#learn(lane, tried);
    } catch (error) {
      // The endpoint could not be looked up: that is no fault of its own.
      if (!isStorageGone(error)) lane.failed(0, this.#parts.clock.now(), undefined);
      throw error;
    } finally {
      lane.inFlight -= 1;
      this.stats.inFlight -= 1;
      this.#shares.left(held.row.workspace_id);
      this.#pump();
      this.#refill(lane);
      if (this.stats.inFlight === 0) this.#wireEmpty?.();
    }
    if (!tried) return;
    if (tried.result.status === 'succeeded') this.stats.succeeded += 1;
    else this.stats.failed += 1;
    await this.#record({ ...tried.result, lease: held.lease });
    if (!tried.disable) return;
    await this.#parts.disable(held.row, { reason: tried.disable, url: tried.result.url });
  }

  #learn(lane: Lane, tried: Tried | undefined): void {
    if (!tried) return;
    const { status, duration_ms } = tried.result;
    if (status === 'succeeded') lane.succeeded(duration_ms);
    else lane.failed(duration_ms, this.#parts.clock.now(), tried.retryAfterMs);
  }

  /** A result that is refused is let go: the lease runs out, and the event is sent again. */
  async #record(result: TryResult): Promise<void> {
    try {
      await this.#results.add(result, (result.answer?.length ?? 0) + 500);
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the result of a webhook could not be recorded');
    }
  }

  /** Soon rather than at once, so that lanes which run dry together share a claim. */
  #refill(lane: Lane): void {
    if (!this.#leftBehind || lane.waiting > 0 || this.#claimSoon || !this.#running) return;
    this.#claimSoon = true;
    this.#parts.clock.after(CLAIM_SOON_MS, () => {
      this.#claimSoon = false;
      this.#claiming.wake();
    });
  }

  async #giveBack(): Promise<void> {
    const { store, clock, log } = this.#parts;
    const held = [...this.#lanes.values()].flatMap((lane) => lane.takeAll());
    this.stats.ready = 0;
    for (const [lease, group] of Map.groupBy(held, (one) => one.lease)) {
      const rows = group.map((one) => one.row);
      await store
        .release(rows, lease, clock.now())
        .catch((error: unknown) => log.warn({ err: error }, 'webhooks were not given back'));
    }
  }
}

/** What a row must still carry when its result is written; a JavaScript number holds 53 bits. */
function newLease(): number {
  return randomBytes(6).readUIntBE(0, 6);
}
