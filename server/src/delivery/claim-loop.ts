import { RETRY_MAX_MS } from '../db/retrying-writer.ts';
import { assert } from '../lib/assert.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { FoundQueue, Queue } from '../messages/deliveries/claim-store.ts';
import {
  type ClaimedRow,
  type ClaimRequest,
  type IdRange,
  SCAN_START,
  type ScanRequest,
} from '../messages/deliveries/claim-store.ts';
import { newLeaseToken } from '../messages/deliveries/lease-store.ts';
import { DueQueues } from './due-queues.ts';

/**
 * Claims due deliveries into memory while there is capacity: a few rows of each queue (workspace and
 * shard) in turn. A scan over all queues finds those with due rows. It runs after a notification of
 * new rows and otherwise twice a second. With so many queues that a scan takes noticeable time, scans
 * become proportionally rarer, and claims rely on what the last scan found.
 *
 * The loop is always in one of these modes:
 *
 * - STOPPED: before `start` and after `stop`. No timer is set. → WAITING
 * - WAITING: a timer is set for the next scan or due queue; `wake` ends the wait early.
 *   → CLAIMING, STOPPED
 * - PAUSED: the database failed or has just recovered. A timer is set, and `wake` has no effect
 *   until the pause is over. → CLAIMING, STOPPED
 * - CLAIMING: scans and claims are in progress. → WAITING when nothing more is due or there is no
 *   capacity, PAUSED after a database error or a recovery, STOPPING
 * - STOPPING: `stop` waits for the claim in progress. → STOPPED
 */
export class ClaimLoop {
  readonly #parts: ClaimLoopParts;
  readonly #queues = new DueQueues();
  #mode: ClaimLoopMode = 'STOPPED';
  /** The run in progress while CLAIMING or STOPPING. */
  #run: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** `wake` was called since the last step began. */
  #wakePending = false;
  #pausedUntilMs = 0;
  /** The last query failed: nothing is claimed until the database answers again. */
  #databaseDown = false;
  #hasBacklog = false;
  #isFull = false;
  /** How far the current scan has come; SCAN_START between scans. */
  #scanCursor: Queue = SCAN_START;
  #scanRequested = true;
  #scanDurationMs = 0;
  #scanEndedAtMs = 0;
  #pickedAtMs = 0;
  #range: IdRange = { oldest: '', newest: '' };
  #rangeReadAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ClaimLoopParts) {
    this.#parts = parts;
  }

  /** Due rows were left in the database for lack of capacity. */
  get hasBacklog(): boolean {
    return this.#hasBacklog;
  }

  start(): void {
    this.#enter('WAITING');
    this.wake();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    if (this.#mode === 'CLAIMING') this.#enter('STOPPING');
    else if (this.#mode !== 'STOPPED' && this.#mode !== 'STOPPING') this.#enter('STOPPED');
    await this.#run;
  }

  /** Rows became due, possibly old ones that are retried. */
  notifyDue(): void {
    this.#scanRequested = true;
    this.#rangeReadAtMs = Math.min(
      this.#rangeReadAtMs,
      this.#parts.clock.now() - RANGE_MAX_AGE_MS + RANGE_MAX_AGE_NOTIFIED_MS,
    );
    this.wake();
  }

  /** There is capacity again, or time has passed. */
  wake(): void {
    this.#wakePending = true;
    if (this.#mode !== 'WAITING' && this.#mode !== 'PAUSED') return;
    if (this.#parts.clock.now() < this.#pausedUntilMs) return;
    this.#timer?.cancel();
    this.#enter('CLAIMING');
    this.#run = this.#claimAll().finally(() => {
      this.#run = undefined;
      if (this.#mode === 'STOPPING') this.#enter('STOPPED');
      else this.#scheduleWake();
    });
  }

  #enter(mode: ClaimLoopMode): void {
    assert(TRANSITIONS[this.#mode].includes(mode), `claim loop went from ${this.#mode} to ${mode}`);
    this.#mode = mode;
  }

  #scheduleWake(): void {
    const { clock, pollMs } = this.#parts;
    const nowMs = clock.now();
    const pauseMs = this.#pausedUntilMs - nowMs;
    this.#enter(pauseMs > 0 ? 'PAUSED' : 'WAITING');
    const waitMs = this.#wakePending ? 0 : this.#isFull ? pollMs : this.#nextAtMs() - nowMs;
    // Bounds the wait when the clock has been set back since these times were computed.
    const waitMaxMs = Math.max(pollMs, SCAN_REST_MAX_MS);
    this.#timer = clock.after(Math.max(0, pauseMs, Math.min(waitMs, waitMaxMs)), () => {
      // Timers may fire slightly early by the wall clock. This one ends the pause regardless: if
      // `wake` rejected it, nothing would ever claim again.
      this.#pausedUntilMs = 0;
      this.wake();
    });
  }

  #nextAtMs(): number {
    // Counted from the last pick rather than now, so that rows that became due since are not missed.
    return Math.min(this.#nextScanAtMs(), this.#queues.nextDueAtMs(this.#pickedAtMs));
  }

  #nextScanAtMs(): number {
    const restMinMs = this.#hasBacklog ? SCAN_REST_BUSY_MS : 0;
    const restMs = Math.min(
      Math.max(restMinMs, this.#scanDurationMs * SCAN_REST_FACTOR),
      SCAN_REST_MAX_MS,
    );
    const { pollMs } = this.#parts;
    return this.#scanEndedAtMs + (this.#scanRequested ? restMs : Math.max(restMs, pollMs));
  }

  async #claimAll(): Promise<void> {
    const { log, clock } = this.#parts;
    try {
      // Bounded, so that a continuous backlog cannot keep the loop from being scheduled again.
      for (let step = 0; step < STEPS_MAX && this.#mode === 'CLAIMING'; step++) {
        this.#wakePending = false;
        if (!(await this.#step())) return;
      }
      this.#wakePending = true;
    } catch (error) {
      if (!this.#databaseDown) log.warn({ err: error }, 'claiming deliveries failed, retrying');
      this.#databaseDown = true;
      this.#pausedUntilMs = clock.now() + RETRY_MAX_MS;
    }
  }

  /** True when another step should follow at once. */
  async #step(): Promise<boolean> {
    if (this.#databaseDown) {
      await this.#probeDatabase();
      return false;
    }
    const { rowsMax, skipWorkspaces } = this.#parts.capacity();
    this.#isFull = rowsMax <= 0;
    if (this.#isFull) {
      this.#hasBacklog = true;
      return false;
    }
    const { clock } = this.#parts;
    const startedAtMs = clock.now();
    const scanning = this.#scanCursor !== SCAN_START;
    const clockSetBack = startedAtMs < this.#scanEndedAtMs;
    if (scanning || clockSetBack || startedAtMs >= this.#nextScanAtMs()) {
      await this.#continueScan(startedAtMs);
    }
    const nowMs = clock.now();
    const queuesMax = Math.max(1, Math.floor(rowsMax / PER_QUEUE_MIN));
    this.#pickedAtMs = nowMs;
    const queues = this.#queues.pick(nowMs, skipWorkspaces, queuesMax);
    if (queues.length > 0) await this.#claim(queues, Math.floor(rowsMax / queues.length));
    this.#hasBacklog = this.#queues.hasDue(nowMs);
    return this.#scanCursor !== SCAN_START || (queues.length > 0 && this.#hasBacklog);
  }

  /** The first query after a failure claims nothing. */
  async #probeDatabase(): Promise<void> {
    const { clock, findRange, log } = this.#parts;
    await findRange(clock.now());
    this.#databaseDown = false;
    this.#scanRequested = true;
    this.#pausedUntilMs = clock.now() + OUTAGE_GRACE_MS;
    log.info({ resumesInMs: OUTAGE_GRACE_MS }, 'database is back');
  }

  /** Scans in batches, so that claims run in between. */
  async #continueScan(nowMs: number): Promise<void> {
    const { clock, findRange, scan, stopwatchMs } = this.#parts;
    const startedAtMs = stopwatchMs();
    if (this.#scanCursor === SCAN_START) {
      this.#scanRequested = false;
      this.#scanDurationMs = 0;
      if (nowMs - this.#rangeReadAtMs >= RANGE_MAX_AGE_MS) {
        this.#range = await findRange(nowMs);
        this.#rangeReadAtMs = nowMs;
      }
    }
    const found = await scan({
      after: this.#scanCursor,
      queuesMax: SCAN_BATCH,
      range: this.#range,
    });
    this.#scanDurationMs += stopwatchMs() - startedAtMs;
    this.#queues.update(found, nowMs);
    const last = found.at(-1);
    if (last && found.length >= SCAN_BATCH) {
      this.#scanCursor = last;
      return;
    }
    this.#queues.finishScan(nowMs);
    this.#scanCursor = SCAN_START;
    this.#scanEndedAtMs = clock.now();
  }

  async #claim(queues: readonly Queue[], perQueueMax: number): Promise<void> {
    const { clock, claim, admit, leaseMs, retryWindowMs } = this.#parts;
    const nowMs = clock.now();
    const leaseEndsAtMs = nowMs + leaseMs;
    const rows = await claim({
      queues,
      perQueueMax,
      nowMs,
      lease: newLeaseToken(),
      leaseEndsAtMs,
      range: this.#range,
      retryWindowMs,
    });
    this.#queues.recordClaim(queues, rows, perQueueMax);
    admit(rows, leaseEndsAtMs);
  }
}

type ClaimLoopMode = 'STOPPED' | 'WAITING' | 'PAUSED' | 'CLAIMING' | 'STOPPING';

const TRANSITIONS: Record<ClaimLoopMode, readonly ClaimLoopMode[]> = {
  STOPPED: ['WAITING'],
  WAITING: ['CLAIMING', 'STOPPED'],
  PAUSED: ['CLAIMING', 'STOPPED'],
  CLAIMING: ['WAITING', 'PAUSED', 'STOPPING'],
  STOPPING: ['STOPPED'],
};

export interface ClaimLoopParts {
  clock: Clock;
  /** Measures how long scans take; unlike the clock, it is never set. */
  stopwatchMs: () => number;
  log: Log;
  scan: (request: ScanRequest) => Promise<FoundQueue[]>;
  claim: (request: ClaimRequest) => Promise<ClaimedRow[]>;
  findRange: (nowMs: number) => Promise<IdRange>;
  /** How many rows may be claimed now; none while outcomes cannot be recorded. */
  capacity: () => { rowsMax: number; skipWorkspaces: string[] };
  admit: (rows: ClaimedRow[], leaseEndsAtMs: number) => void;
  leaseMs: number;
  retryWindowMs: number;
  pollMs: number;
}

const STEPS_MAX = 100;
/** How long the range of unfinished ids is reused, without and with a notification of due rows. */
const RANGE_MAX_AGE_MS = 60_000;
const RANGE_MAX_AGE_NOTIFIED_MS = 500;
/** Rows per queue that make a claim worth its cost. */
const PER_QUEUE_MIN = 10;
/** Queues that one scan query visits before claims get their turn. */
const SCAN_BATCH = 500;
/** The rest after a scan, as a multiple of its duration: scans take at most a fifth of the time. */
const SCAN_REST_FACTOR = 4;
const SCAN_REST_MAX_MS = 5_000;
/** Under heavy load every commit is a notification. */
const SCAN_REST_BUSY_MS = 20;
/**
 * During a database outage leases expire while every node holds outcomes that it could not write.
 * Claims wait until all nodes have had time to write them: claiming at once would send that mail
 * twice.
 */
const OUTAGE_GRACE_MS = 2 * RETRY_MAX_MS;
