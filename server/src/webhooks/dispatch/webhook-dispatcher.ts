import { isConnectionError } from '../../db/connections/database-errors.ts';
import { assert } from '../../lib/assert.ts';
import type { Log } from '../../lib/log.ts';
import { onceInLoopBatch } from '../../lib/scheduling/loop-batch.ts';
import { WorkLoop } from '../../lib/scheduling/work-loop.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { ClaimLoop } from '../../queue/claim-loop.ts';
import type { ClaimableQueue, FoundQueue } from '../../queue/due-queues.ts';
import { InFlight } from '../../queue/in-flight.ts';
import { enterState, type LeasedItem, type LeaseTerms } from '../../queue/lease.ts';
import { type LeaseHolder, soleHolder } from '../../queue/lease-holder.ts';
import { LeaseKeeper, type LeaseStore } from '../../queue/lease-keeper.ts';
import { ReadyQueue } from '../../queue/ready-queue.ts';
import { ResultRecorder } from '../../queue/result-recorder.ts';
import { WithheldWorkspaces } from '../../queue/withheld-workspaces.ts';
import type { LeasedRow } from '../fan-out/fan-out-store.ts';
import { WebhookCapacity } from '../fan-out/webhook-capacity.ts';
import { type FanOutStore, WebhookFanOut } from '../fan-out/webhook-fan-out.ts';
import type { WebhookAttempt } from './attempt-webhook.ts';
import { type EndpointKey, endpointId } from './endpoint-key.ts';
import { EndpointLimits } from './endpoint-limits.ts';
import type { AttemptRecord } from './webhook-queue-store.ts';
import { WebhookThrottle } from './webhook-throttle.ts';

/**
 * Delivers events to webhook endpoints: holds a bounded number of deliveries under leases, attempts
 * them, and records the results. Guarantees at-least-once delivery: whatever a process held when it
 * died is claimed again once its leases expire. While the database is unavailable results wait, and
 * nothing new is attempted. No endpoint delays another, no workspace another, and memory does not
 * grow with the backlog.
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
  holder?: LeaseHolder;
  clock: Clock;
  log: Log;
  limits?: Partial<DispatcherLimits>;
}

/** A webhook delivery that this node has leased. */
export interface WebhookDelivery extends LeasedItem {
  row: LeasedRow;
}

/** The database statements of the dispatcher. */
export interface DispatchStore extends FanOutStore, LeaseStore<WebhookDelivery> {
  scan: (
    after: EndpointKey | undefined,
    endpointsMax: number,
  ) => Promise<FoundQueue<EndpointKey>[]>;
  claim: (
    queues: readonly ClaimableQueue<EndpointKey>[],
    terms: LeaseTerms,
  ) => Promise<LeasedRow[]>;
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
  /** The longest interval between two scans for due deliveries. */
  claimMs: number;
}

const DEFAULT_LIMITS: DispatcherLimits = {
  leaseMs: 60_000,
  inFlightMax: 100,
  perEndpointMax: 16,
  readyMax: 2_000,
  pollMs: 5_000,
  claimMs: 1_000,
};

type DispatcherMode = 'STOPPED' | 'RUNNING' | 'DRAINING';

const TRANSITIONS: Record<DispatcherMode, DispatcherMode> = {
  STOPPED: 'RUNNING',
  RUNNING: 'DRAINING',
  DRAINING: 'STOPPED',
};

const THROTTLED_RETRY_MS = 100;
const CLAIM_REST_MS = 5_000;
const RELEASE_DELAY_MS = 1_000;
const REFILL_DELAY_MS = 10;
const SWEEP_INTERVAL_MS = 60_000;
const ORPHANS_BATCH = 1_000;
const RESULTS_GROUP_MAX = 200;
/**
 * Longer than for mail, where a result that is lost in a crash means a duplicate email: the statement
 * costs as much as twenty of its rows, and receivers of webhooks recognize duplicates by their id.
 */
const RESULTS_SPACING_MS = 100;

export class WebhookDispatcher {
  readonly #parts: DispatcherParts;
  readonly #limits: DispatcherLimits;
  #mode: DispatcherMode = 'STOPPED';
  readonly stats = { inFlight: 0, ready: 0, succeeded: 0, failed: 0, fannedOut: 0 };
  readonly #endpoints: EndpointLimits;
  readonly #held = new Set<WebhookDelivery>();
  /** Responses that arrive together are read before the next requests start. */
  readonly #pumpSoon = onceInLoopBatch(() => this.#pump());
  readonly #ready: ReadyQueue<WebhookDelivery>;
  readonly #inFlight: InFlight;
  readonly #throttle: WebhookThrottle;
  readonly #recorder: ResultRecorder<AttemptRecord>;
  readonly #holder: LeaseHolder;
  readonly #leases: LeaseKeeper<WebhookDelivery>;
  readonly #withheld: WithheldWorkspaces;
  readonly #fanOut: WebhookFanOut;
  readonly #claims: ClaimLoop<EndpointKey, LeasedRow>;
  readonly #sweeps: WorkLoop;
  readonly #pending = { pump: false, refill: false };

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#limits = { ...DEFAULT_LIMITS, ...parts.limits };
    const { clock, log, store, mailCommits = () => 0, holder = soleHolder } = parts;
    this.#holder = holder;
    this.#withheld = new WithheldWorkspaces(clock);
    const holderId = () => holder.id;
    const { leaseMs, inFlightMax, perEndpointMax, pollMs, claimMs } = this.#limits;
    const onCapacity = this.#pumpSoon;
    this.#endpoints = new EndpointLimits({ clock, perEndpointMax, onCapacity });
    this.#throttle = new WebhookThrottle({ clock, mailCommits });
    this.#inFlight = new InFlight(inFlightMax, this.stats);
    this.#ready = new ReadyQueue({
      workspaceOf: ({ row }) => row.workspace_id,
      receiverOf: ({ row }) => row.webhook_id,
      limitFor: ({ row }) => this.#endpoints.get(row.webhook_id),
      mayTake: (workspaceId) => this.#inFlight.mayStart(workspaceId),
      stats: this.stats,
    });
    this.#recorder = new ResultRecorder({
      what: 'webhook results',
      write: store.record,
      groupMax: RESULTS_GROUP_MAX,
      spacingMs: RESULTS_SPACING_MS,
      clock,
      log,
      onRecovered: onCapacity,
    });
    this.#leases = new LeaseKeeper({
      store,
      clock,
      log,
      leaseMs,
      ready: this.#ready,
      held: () => this.#held,
      onDropped: (delivery, from) => {
        this.#held.delete(delivery);
        if (from === 'ready') this.#endpoints.get(delivery.row.webhook_id).waiting -= 1;
      },
      onLost: ({ row }) =>
        log.warn({ webhookId: row.webhook_id, eventId: row.event_id }, 'webhook lease expired'),
      pump: () => this.#pump(),
    });
    const capacity = new WebhookCapacity({
      ready: this.#ready,
      endpoints: this.#endpoints,
      withheld: this.#withheld,
      throttle: this.#throttle,
      readyMax: this.#limits.readyMax,
      mayLease: () => this.#mode === 'RUNNING' && !this.#recorder.stalled && this.#holder.isAlive,
    });
    this.#fanOut = new WebhookFanOut({
      store,
      clock,
      log,
      throttle: this.#throttle,
      capacity: () => capacity.fanOut(),
      admit: (made, leased, terms) => {
        this.stats.fannedOut += made;
        if (made > leased.length) this.#claims.notifyDue();
        this.#admit(leased, terms);
      },
      holderId,
      leaseMs,
      pollMs,
    });
    this.#claims = new ClaimLoop({
      what: 'webhook deliveries',
      clock,
      stopwatchMs: () => performance.now(),
      log,
      queueId: endpointId,
      queueIdOfRow: (row) =>
        endpointId({ workspaceId: row.workspace_id, mode: row.mode, webhookId: row.webhook_id }),
      scan: store.scan,
      claim: store.claim,
      probe: store.anyEnabled,
      capacity: () => capacity.claim(),
      admit: (rows, terms) => this.#admit(this.#withoutUnrecorded(rows, terms), terms),
      holderId,
      leaseMs,
      pollMs: claimMs,
      pollRestMs: holder === soleHolder ? CLAIM_REST_MS : claimMs,
    });
    this.#sweeps = new WorkLoop({
      clock,
      log,
      task: 'webhook sweep',
      work: () => this.#sweep(),
      idleMs: SWEEP_INTERVAL_MS,
    });
  }

  start(): void {
    this.#enter('RUNNING');
    this.#holder.start({
      onChange: () => {
        this.#claims.wake();
        this.#pump();
      },
      onLost: () => this.#leases.loseAll(),
      onTakeover: () => this.#claims.notifyDue(),
    });
    this.#fanOut.start();
    this.#claims.start();
    this.#leases.start();
    this.#sweeps.start();
  }

  /** Events were appended to the event log. */
  wake(): void {
    this.#fanOut.wake();
  }

  /** Deliveries became due, for instance by a replay. */
  wakeClaims(): void {
    this.#claims.notifyDue();
  }

  /** Releases what is not being attempted, and claims and starts nothing for a few seconds. */
  withhold(workspaceId: string): void {
    this.#withheld.add(workspaceId);
    const waiting = [...this.#held].filter(
      ({ state, row }) => state === 'ready' && row.workspace_id === workspaceId,
    );
    void this.#leases.release(waiting);
  }

  /** Finishes attempts in flight and releases all other deliveries. */
  async stop(deadlineMs: number): Promise<void> {
    if (this.#mode !== 'RUNNING') return;
    this.#enter('DRAINING');
    const { clock } = this.#parts;
    const endsAtMs = clock.now() + deadlineMs;
    await Promise.all([this.#fanOut.stop(), this.#claims.stop(), this.#sweeps.stop()]);
    await this.#leases.release([...this.#held].filter(({ state }) => state === 'ready'));
    await this.#inFlight.drained(clock, deadlineMs);
    await this.#recorder.finish(Math.max(1_000, endsAtMs - clock.now()));
    await this.#leases.released();
    this.#leases.stop();
    await this.#holder.stop(this.#held.size === 0);
    this.#enter('STOPPED');
  }

  #enter(mode: DispatcherMode): void {
    assert(TRANSITIONS[this.#mode] === mode, `dispatcher went from ${this.#mode} to ${mode}`);
    this.#mode = mode;
  }

  #admit(rows: readonly LeasedRow[], { lease, leaseEndsAtMs, nowMs }: LeaseTerms): void {
    const deliveries = rows.map((row): WebhookDelivery => {
      return { row, lease, leaseEndsAtMs, state: 'leased' };
    });
    for (const delivery of deliveries) this.#held.add(delivery);
    if (deliveries.length > 0) {
      this.#leases.added();
      this.#claims.expectRows();
    }
    if (this.#mode !== 'RUNNING' || !this.#holder.issued(lease)) {
      void this.#leases.release(deliveries);
      return;
    }
    const withheld = deliveries.filter(({ row }) => this.#withheld.has(row.workspace_id));
    if (withheld.length > 0) void this.#leases.release(withheld);
    for (const delivery of deliveries) {
      if (delivery.state !== 'leased') continue;
      const endpoint = this.#endpoints.get(delivery.row.webhook_id);
      endpoint.waiting += 1;
      endpoint.usedAtMs = nowMs;
      this.#ready.add(delivery);
    }
    this.#pump();
  }

  /**
   * Leases of deliveries that this node is still attempting, or whose results it has not written yet,
   * may expire, for instance during an outage of the database. Sending again what was claimed again
   * would be a duplicate: the result is written under the new lease. Returns the other rows.
   */
  #withoutUnrecorded(rows: LeasedRow[], { lease, leaseEndsAtMs }: LeaseTerms): LeasedRow[] {
    const claimed = new Set(rows.map((row) => row.event_id));
    const unrecorded = new Map<string, WebhookDelivery>();
    for (const delivery of this.#held) {
      if (delivery.state !== 'sending' && delivery.state !== 'recording') continue;
      // Composing an ID for each of them would be a tenth of the cost of webhooks.
      if (claimed.has(delivery.row.event_id)) unrecorded.set(attemptId(delivery.row), delivery);
    }
    if (unrecorded.size === 0) return rows;
    return rows.filter((row) => {
      const delivery = unrecorded.get(attemptId(row));
      if (delivery) Object.assign(delivery, { lease, leaseEndsAtMs });
      return !delivery;
    });
  }

  /** True when there may be more deliveries of deleted endpoints. */
  async #sweep(): Promise<boolean> {
    this.#endpoints.removeOutdated();
    const failed = await this.#parts.store.failOrphans(this.#parts.clock.now(), ORPHANS_BATCH);
    return failed === ORPHANS_BATCH;
  }

  /** Starts as many attempts as the limits allow. */
  #pump(): void {
    while (
      this.#mode === 'RUNNING' &&
      this.#ready.size > 0 &&
      !this.#inFlight.isFull &&
      !this.#recorder.stalled &&
      this.#holder.isAlive
    ) {
      if (!this.#throttle.tryAcquire()) {
        this.#once('pump', THROTTLED_RETRY_MS, () => this.#pump());
        return;
      }
      const delivery = this.#ready.take()?.items[0];
      if (!delivery) {
        this.#throttle.giveBack();
        return;
      }
      void this.#attempt(delivery);
    }
  }

  async #attempt(delivery: WebhookDelivery): Promise<void> {
    const { workspace_id: workspaceId, webhook_id: webhookId, event_id: eventId } = delivery.row;
    const endpoint = this.#endpoints.get(webhookId);
    enterState(delivery, 'sending');
    endpoint.waiting -= 1;
    this.#inFlight.start(workspaceId);
    let attempt: WebhookAttempt | undefined;
    try {
      if (this.#leases.isSafe(delivery, this.#parts.clock.now())) {
        attempt = await this.#parts.attempt(delivery.row);
        if (attempt?.result.status === 'succeeded') endpoint.succeeded(attempt.result.duration_ms);
        else if (attempt) endpoint.failed(attempt.result.duration_ms, attempt.retryAfterMs);
      } else this.#leases.lose(delivery);
    } catch (error) {
      // A database error while loading the endpoint does not count against the endpoint.
      const retry = isConnectionError(error);
      if (retry) void this.#leases.release([delivery], RELEASE_DELAY_MS);
      else endpoint.failed(0, undefined);
      const level = retry ? 'warn' : 'error';
      this.#parts.log[level]({ err: error, webhookId, eventId }, 'webhook attempt failed');
    }
    this.#inFlight.end(workspaceId);
    this.#ready.capacityFreed();
    endpoint.release();
    this.#pumpSoon();
    // Slightly delayed, so that endpoints that run out of deliveries together share a claim.
    if (this.#claims.hasBacklog && endpoint.waiting === 0) {
      this.#once('refill', REFILL_DELAY_MS, () => this.#claims.wake());
    }
    if (attempt) await this.#record(delivery, attempt);
    this.#leases.drop(delivery);
  }

  /** A rejected result is dropped: the lease expires, and the event is sent again. */
  async #record(delivery: WebhookDelivery, { result, disable }: WebhookAttempt): Promise<void> {
    if (result.status === 'succeeded') this.stats.succeeded += 1;
    else this.stats.failed += 1;
    enterState(delivery, 'recording');
    try {
      const bytes = (result.response_body?.length ?? 0) + 500;
      await this.#write(delivery, result, bytes);
      if (disable) await this.#parts.disable(delivery.row, { reason: disable, url: result.url });
    } catch (error) {
      const { webhook_id: webhookId, event_id: eventId } = result;
      this.#parts.log.warn({ err: error, webhookId, eventId }, 'recording webhook result failed');
    }
  }

  async #write(
    delivery: WebhookDelivery,
    result: WebhookAttempt['result'],
    bytes: number,
  ): Promise<void> {
    for (;;) {
      const { lease } = delivery;
      if (await this.#recorder.record({ ...result, lease }, bytes)) return;
      // A claim of this node may have got the row during the write, and not returned yet.
      await this.#claims.claimed();
      if (delivery.lease === lease) return;
    }
  }

  /** Runs a task after a delay, once however often it is requested meanwhile. */
  #once(name: 'pump' | 'refill', delayMs: number, task: () => void): void {
    if (this.#pending[name]) return;
    this.#pending[name] = true;
    this.#parts.clock.after(delayMs, () => {
      this.#pending[name] = false;
      task();
    });
  }
}

function attemptId({ webhook_id: webhookId, event_id: eventId, attempts }: LeasedRow): string {
  return `${webhookId} ${eventId} ${attempts}`;
}
