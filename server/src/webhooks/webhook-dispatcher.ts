import { randomBytes } from 'node:crypto';
import { isConnectionError } from '../db/database-errors.ts';
import { RetryingWriter, WriterStoppedError } from '../db/retrying-writer.ts';
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { FairShares } from '../lib/fair-shares.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Log } from '../lib/log.ts';
import { WorkLoop } from '../lib/work-loop.ts';
import type { WebhookAttempt } from './attempt-webhook.ts';
import { EndpointQueue, type LeasedDelivery } from './endpoint-queue.ts';
import type { ClaimCapacity, LeasedRow, LeaseTerms } from './fan-out-store.ts';
import {
  type AttemptRecord,
  CLAIM_START,
  type ClaimCursor,
  type ClaimedBatch,
} from './webhook-queue-store.ts';
import { WebhookThrottle } from './webhook-throttle.ts';

/**
 * Delivers events to webhook endpoints: fans out the event log into deliveries, holds a bounded
 * number of them under leases, attempts them, and records the results in group commits. Guarantees
 * at-least-once delivery: whatever a process held when it died is claimed again once its leases
 * expire. While the database is unavailable results wait, and nothing new is attempted. No endpoint
 * delays another, no workspace another, and memory does not grow with the backlog.
 *
 * The dispatcher is always in one of these modes:
 *
 * - STOPPED: before `start` and after `stop`. → RUNNING
 * - RUNNING: events are fanned out, and deliveries are claimed and attempted. → DRAINING
 * - DRAINING: `stop` was called. Attempts in flight finish and are recorded, queued deliveries are
 *   released. → STOPPED
 */
export interface DispatcherParts {
  store: DispatchStore;
  /** Makes one attempt; never throws for anything the receiver does. */
  attempt: (row: LeasedRow) => Promise<WebhookAttempt | undefined>;
  /** Disables an endpoint, if it still has the URL that was tried, and writes an event. */
  disable: (
    row: LeasedRow,
    found: { reason: NonNullable<WebhookAttempt['disable']>; url: string },
  ) => Promise<void>;
  /** How many mail transactions this process has committed: see webhook-throttle.ts. */
  mailCommits?: () => number;
  clock: Clock;
  log: Log;
  limits?: Partial<DispatcherLimits>;
}

/** The database statements of the dispatcher. */
export interface DispatchStore {
  anyEnabled: () => Promise<boolean>;
  skipToEnd: () => Promise<void>;
  fanOut: (
    eventsMax: number,
    capacity: ClaimCapacity,
    terms: LeaseTerms,
  ) => Promise<{ seen: number; made: number; leased: LeasedRow[] }>;
  claim: (after: ClaimCursor, capacity: ClaimCapacity, terms: LeaseTerms) => Promise<ClaimedBatch>;
  release: (rows: readonly LeasedRow[], lease: number, nowMs: number) => Promise<void>;
  failOrphans: (nowMs: number, limit: number) => Promise<number>;
  record: (results: readonly AttemptRecord[]) => Promise<boolean[]>;
}

export interface DispatcherLimits {
  leaseMs: number;
  /** Concurrent attempts in total. */
  inFlightMax: number;
  perEndpointMax: number;
  readyMax: number;
  /** The longest interval between two reads of the event log. */
  pollMs: number;
  /** The longest interval between two claims. */
  claimMs: number;
}

const DEFAULT_LIMITS: DispatcherLimits = {
  leaseMs: 60_000,
  inFlightMax: 100,
  perEndpointMax: 16,
  readyMax: 2_000,
  pollMs: 200,
  claimMs: 500,
};

type DispatcherMode = 'STOPPED' | 'RUNNING' | 'DRAINING';

const TRANSITIONS: Record<DispatcherMode, DispatcherMode> = {
  STOPPED: 'RUNNING',
  RUNNING: 'DRAINING',
  DRAINING: 'STOPPED',
};

/** With less time left an attempt might outlive its lease: 15 seconds, and time to record it. */
const LEASE_LEFT_MIN_MS = 20_000;
const FAN_OUT_BATCH = 1_000;
const FAN_OUT_SOON_MS = 5;
const FAN_OUT_THROTTLED_MS = 250;
const READY_THROTTLED_MAX = 200;
/** For an endpoint that this node has no queue for yet. */
const CAPACITY_DEFAULT = 16;
const SKIP_TO_END_INTERVAL_MS = 10_000;
const ENABLED_CACHE_MS = 5_000;
const REFILL_DELAY_MS = 10;
const RESULT_SPACING_MS = 20;
const QUEUES_MAX = 10_000;
const SWEEP_INTERVAL_MS = 60_000;
const ORPHANS_BATCH = 1_000;

export class WebhookDispatcher {
  readonly #parts: DispatcherParts;
  readonly #limits: DispatcherLimits;
  #mode: DispatcherMode = 'STOPPED';
  readonly #queues = new Map<string, EndpointQueue>();
  /** Queues with ready deliveries, in the order of their next turn. */
  readonly #rotation = new Set<EndpointQueue>();
  readonly #shares: FairShares;
  readonly #throttle: WebhookThrottle;
  readonly #writes: RetryingWriter;
  readonly #results: GroupCommit<AttemptRecord, boolean>;
  readonly #fanOutLoop: WorkLoop;
  readonly #claimLoop: WorkLoop;
  readonly stats = { inFlight: 0, ready: 0, succeeded: 0, failed: 0, fannedOut: 0 };
  readonly #fanOutState = {
    tookMs: 0,
    /** Until then at least one endpoint is assumed to be enabled. */
    enabledUntilMs: Number.NEGATIVE_INFINITY,
    skippedAtMs: Number.NEGATIVE_INFINITY,
  };
  readonly #claimState = {
    cursor: CLAIM_START,
    /** More deliveries are due in the database than this node holds. */
    hasBacklog: false,
    refillScheduled: false,
    sweptAtMs: Number.NEGATIVE_INFINITY,
  };
  #onDrained: (() => void) | undefined;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#limits = { ...DEFAULT_LIMITS, ...parts.limits };
    const { clock, log, store, mailCommits = () => 0 } = parts;
    this.#shares = new FairShares(this.#limits.inFlightMax);
    this.#throttle = new WebhookThrottle({ clock, mailCommits });
    this.#writes = new RetryingWriter({
      what: 'webhook results',
      clock,
      log,
      onRecovered: () => this.#pump(),
    });
    this.#results = new GroupCommit({
      commit: (results) => this.#writes.run(results.length, () => store.record(results)),
      isItemError: (error) => !(error instanceof WriterStoppedError),
      groupItemsMax: 200,
      groupBytesMax: 4 * 1024 * 1024,
      // Nothing waits for results, and larger groups save more than a second writer gains.
      groupsInFlightMax: 1,
      spacingMs: RESULT_SPACING_MS,
      waitingItemsMax: Number.POSITIVE_INFINITY,
      waitingBytesMax: Number.POSITIVE_INFINITY,
    });
    this.#fanOutLoop = new WorkLoop({
      clock,
      log,
      task: 'webhook fan-out',
      work: () => this.#fanOut(),
      idleMs: this.#limits.pollMs,
      firstDelayMs: FAN_OUT_SOON_MS,
      minIntervalMs: () => this.#fanOutSpacingMs(),
    });
    this.#claimLoop = new WorkLoop({
      clock,
      log,
      task: 'webhook claims',
      work: () => this.#claim(),
      idleMs: this.#limits.claimMs,
    });
  }

  start(): void {
    this.#enter('RUNNING');
    this.#fanOutLoop.start();
    this.#claimLoop.start();
  }

  /** Events were appended to the event log. */
  wake(): void {
    this.#fanOutLoop.wake();
  }

  /** Deliveries became due, for instance by a replay. */
  wakeClaims(): void {
    this.#claimLoop.wake();
  }

  /** Finishes attempts in flight and releases all other deliveries. */
  async stop(deadlineMs: number): Promise<void> {
    if (this.#mode === 'RUNNING') this.#enter('DRAINING');
    const cancelDeadline = this.#writes.abortAfter(deadlineMs);
    await Promise.all([this.#fanOutLoop.stop(), this.#claimLoop.stop()]);
    await this.#releaseQueued();
    if (this.stats.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
        this.#parts.clock.after(deadlineMs, resolve);
      });
    }
    await this.#results.drained();
    cancelDeadline();
    if (this.#mode === 'DRAINING') this.#enter('STOPPED');
  }

  #enter(mode: DispatcherMode): void {
    assert(TRANSITIONS[this.#mode] === mode, `dispatcher went from ${this.#mode} to ${mode}`);
    this.#mode = mode;
  }

  /** Fan-out takes at most a tenth of the time; while throttled it runs rarely, in large batches. */
  #fanOutSpacingMs(): number {
    if (this.#throttle.throttled) return FAN_OUT_THROTTLED_MS;
    const { tookMs } = this.#fanOutState;
    return Math.min(FAN_OUT_THROTTLED_MS, Math.max(FAN_OUT_SOON_MS, 10 * tookMs));
  }

  /** True when there may be more events at once. */
  async #fanOut(): Promise<boolean> {
    const { store, clock } = this.#parts;
    if (!(await this.#hasEnabledEndpoints())) return false;
    const terms = this.#leaseTerms();
    const { seen, made, leased } = await store.fanOut(FAN_OUT_BATCH, this.#capacity(), terms);
    this.#fanOutState.tookMs = clock.now() - terms.nowMs;
    this.stats.fannedOut += made;
    this.#throttle.addEvents(seen);
    if (made > leased.length) this.#claimState.hasBacklog = true;
    this.#admit(leased, terms);
    return seen === FAN_OUT_BATCH;
  }

  /** Without enabled endpoints the event log is not read at all. */
  async #hasEnabledEndpoints(): Promise<boolean> {
    const { store, clock } = this.#parts;
    const state = this.#fanOutState;
    const nowMs = clock.now();
    if (nowMs < state.enabledUntilMs) return true;
    if (await store.anyEnabled()) {
      state.enabledUntilMs = nowMs + ENABLED_CACHE_MS;
      return true;
    }
    if (nowMs - state.skippedAtMs >= SKIP_TO_END_INTERVAL_MS) {
      state.skippedAtMs = nowMs;
      await store.skipToEnd();
    }
    return false;
  }

  /** True when not all endpoints have been visited yet. */
  async #claim(): Promise<boolean> {
    this.#pump();
    await this.#sweep();
    const capacity = this.#capacity();
    if (capacity.total <= 0) return false;
    const terms = this.#leaseTerms();
    const state = this.#claimState;
    const startedMidway = state.cursor !== CLAIM_START;
    const { rows, cursor } = await this.#parts.store.claim(state.cursor, capacity, terms);
    state.cursor = cursor ?? CLAIM_START;
    state.hasBacklog = rows.length > 0 || cursor !== undefined;
    this.#admit(rows, terms);
    return cursor !== undefined || (startedMidway && rows.length > 0);
  }

  #leaseTerms(): LeaseTerms {
    const nowMs = this.#parts.clock.now();
    return { nowMs, lease: newLeaseToken(), leaseEndsAtMs: nowMs + this.#limits.leaseMs };
  }

  #capacity(): ClaimCapacity {
    const nowMs = this.#parts.clock.now();
    const perEndpoint = [...this.#queues.values()].map((queue) => ({
      id: queue.webhookId,
      capacity: queue.capacity(nowMs),
    }));
    const readyMax = this.#throttle.throttled ? READY_THROTTLED_MAX : this.#limits.readyMax;
    const total = this.#mode === 'RUNNING' ? Math.max(0, readyMax - this.stats.ready) : 0;
    return { defaultPerEndpoint: CAPACITY_DEFAULT, perEndpoint, total };
  }

  #admit(rows: readonly LeasedRow[], { lease, leaseEndsAtMs, nowMs }: LeaseTerms): void {
    for (const row of rows) {
      const queue = this.#queueFor(row.webhook_id);
      queue.add({ row, lease, leaseEndsAtMs });
      queue.usedAtMs = nowMs;
      this.#rotation.add(queue);
      this.stats.ready += 1;
    }
    this.#pump();
  }

  #queueFor(webhookId: string): EndpointQueue {
    const existing = this.#queues.get(webhookId);
    if (existing) return existing;
    if (this.#queues.size >= QUEUES_MAX) {
      for (const [id, queue] of this.#queues) if (queue.isDisposable) this.#queues.delete(id);
    }
    const queue = new EndpointQueue(webhookId, this.#limits.perEndpointMax);
    this.#queues.set(webhookId, queue);
    return queue;
  }

  /**
   * Removes what deleted endpoints leave behind. Every claim visits all endpoints with pending
   * deliveries and lists all queues of this node, so leftovers would make claims slower forever.
   */
  async #sweep(): Promise<void> {
    const nowMs = this.#parts.clock.now();
    if (nowMs - this.#claimState.sweptAtMs < SWEEP_INTERVAL_MS) return;
    for (const [id, queue] of this.#queues) if (queue.isUnused(nowMs)) this.#queues.delete(id);
    const failed = await this.#parts.store.failOrphans(nowMs, ORPHANS_BATCH);
    if (failed < ORPHANS_BATCH) this.#claimState.sweptAtMs = nowMs;
  }

  /** Starts one delivery of each queue in turn, as long as the limits allow. */
  #pump(): void {
    if (this.#writes.stalled) return;
    const nowMs = this.#parts.clock.now();
    const { inFlightMax } = this.#limits;
    let skipped = 0;
    while (
      this.#mode === 'RUNNING' &&
      this.stats.inFlight < inFlightMax &&
      skipped < this.#rotation.size
    ) {
      const [queue] = this.#rotation;
      if (!queue) return;
      this.#rotation.delete(queue);
      if (queue.waiting === 0) continue;
      this.#rotation.add(queue);
      if (!queue.mayStart(nowMs) || !this.#shares.canAcquire(queue.workspaceId ?? '')) {
        skipped += 1;
        continue;
      }
      if (!this.#throttle.tryAcquire()) return;
      skipped = 0;
      this.#startNext(queue, nowMs);
    }
  }

  #startNext(queue: EndpointQueue, nowMs: number): void {
    const delivery = queue.take();
    if (!delivery) return;
    this.stats.ready -= 1;
    if (delivery.leaseEndsAtMs - nowMs < LEASE_LEFT_MIN_MS) {
      // It waited too long: its lease expires, and it is claimed again.
      this.#claimState.hasBacklog = true;
      return;
    }
    queue.inFlight += 1;
    this.stats.inFlight += 1;
    this.#shares.acquire(delivery.row.workspace_id);
    void this.#attempt(queue, delivery).catch((error: unknown) => {
      const level = isConnectionError(error) ? 'warn' : 'error';
      const { webhook_id: webhookId, event_id: eventId } = delivery.row;
      this.#parts.log[level]({ err: error, webhookId, eventId }, 'webhook attempt failed');
    });
  }

  async #attempt(queue: EndpointQueue, delivery: LeasedDelivery): Promise<void> {
    let attempt: WebhookAttempt | undefined;
    try {
      attempt = await this.#parts.attempt(delivery.row);
      this.#updateQueue(queue, attempt);
    } catch (error) {
      // A database error while loading the endpoint does not count against the endpoint.
      if (!isConnectionError(error)) queue.failed(0, this.#parts.clock.now(), undefined);
      throw error;
    } finally {
      queue.inFlight -= 1;
      this.stats.inFlight -= 1;
      this.#shares.release(delivery.row.workspace_id);
      this.#pump();
      this.#scheduleRefill(queue);
      if (this.stats.inFlight === 0) this.#onDrained?.();
    }
    if (!attempt) return;
    if (attempt.result.status === 'succeeded') this.stats.succeeded += 1;
    else this.stats.failed += 1;
    await this.#record({ ...attempt.result, lease: delivery.lease });
    if (!attempt.disable) return;
    await this.#parts.disable(delivery.row, { reason: attempt.disable, url: attempt.result.url });
  }

  #updateQueue(queue: EndpointQueue, attempt: WebhookAttempt | undefined): void {
    if (!attempt) return;
    const { status, duration_ms } = attempt.result;
    if (status === 'succeeded') queue.succeeded(duration_ms);
    else queue.failed(duration_ms, this.#parts.clock.now(), attempt.retryAfterMs);
  }

  /** A rejected result is dropped: the lease expires, and the event is sent again. */
  async #record(result: AttemptRecord): Promise<void> {
    try {
      await this.#results.add(result, (result.response_body?.length ?? 0) + 500);
    } catch (error) {
      const { webhook_id: webhookId, event_id: eventId } = result;
      this.#parts.log.warn({ err: error, webhookId, eventId }, 'recording webhook result failed');
    }
  }

  /** Slightly delayed, so that queues that run empty together share a claim. */
  #scheduleRefill(queue: EndpointQueue): void {
    const state = this.#claimState;
    if (!state.hasBacklog || queue.waiting > 0 || state.refillScheduled) return;
    if (this.#mode !== 'RUNNING') return;
    state.refillScheduled = true;
    this.#parts.clock.after(REFILL_DELAY_MS, () => {
      state.refillScheduled = false;
      this.#claimLoop.wake();
    });
  }

  async #releaseQueued(): Promise<void> {
    const { store, clock, log } = this.#parts;
    const queued = [...this.#queues.values()].flatMap((queue) => queue.takeAll());
    this.stats.ready = 0;
    for (const [lease, group] of Map.groupBy(queued, (delivery) => delivery.lease)) {
      const rows = group.map((delivery) => delivery.row);
      await store
        .release(rows, lease, clock.now())
        .catch((error: unknown) =>
          log.warn({ err: error, count: rows.length }, 'releasing webhook leases failed'),
        );
    }
  }
}

/** A row must still carry this token when its result is written; a JavaScript number holds 53 bits. */
function newLeaseToken(): number {
  return randomBytes(6).readUIntBE(0, 6);
}
