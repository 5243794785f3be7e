import { RETRY_MAX_MS } from '../db/connections/retrying-writer.ts';
import { assert } from '../lib/assert.ts';
import type { Log } from '../lib/log.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { type ClaimableQueue, DueQueues, type FoundQueue } from './due-queues.ts';
import { type LeaseTerms, newLease } from './lease.ts';

/**
 * Claims due rows into memory while there is capacity: a few rows of each queue in turn. The owner
 * decides what a queue is, such as the rows of one webhook endpoint. A scan over all queues finds
 * those with due rows. It runs after a notification of new rows and otherwise every `pollMs`, or at
 * growing intervals up to `pollRestMs` while there are no rows at all, due or not. With so
 * many queues that a scan takes noticeable time, scans become proportionally rarer, and claims rely on
 * what the last scan found.
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
export class ClaimLoop<Queue, Row> {
  readonly #parts: ClaimLoopParts<Queue, Row>;
  readonly #queues: DueQueues<Queue>;
  #mode: ClaimLoopMode = 'STOPPED';
  /** The run in progress while CLAIMING or STOPPING. */
  #run: Promise<void> | undefined;
  #lastClaim: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  /** `wake` was called since the last step began. */
  #wakePending = false;
  #pausedUntilMs = 0;
  /** The last query failed: nothing is claimed until the database answers again. */
  #databaseDown = false;
  #hasBacklog = false;
  #isFull = false;
  /** How far the current scan has come; undefined between scans. */
  #scanCursor: Queue | undefined;
  #scanRequested = true;
  #scanFoundRows = false;
  #pollMs: number;
  #scanDurationMs = 0;
  #scanEndedAtMs = 0;
  #pickedAtMs = 0;

  constructor(parts: ClaimLoopParts<Queue, Row>) {
    this.#parts = parts;
    this.#queues = new DueQueues(parts.queueId);
    this.#pollMs = parts.pollMs;
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

  /** Rows became due. */
  notifyDue(): void {
    this.#scanRequested = true;
    this.#pollMs = this.#parts.pollMs;
    this.wake();
  }

  /** There are rows that may become due without a notification, such as those that this node has leased. */
  expectRows(): void {
    if (this.#pollMs === this.#parts.pollMs) return;
    this.#pollMs = this.#parts.pollMs;
    if (this.#mode !== 'WAITING') return;
    this.#timer?.cancel();
    this.#scheduleTimer();
  }

  /** Resolves when the rows of a claim in progress, if there is one, have been admitted. */
  async claimed(): Promise<void> {
    await this.#lastClaim.catch(() => {});
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
    const pauseMs = this.#pausedUntilMs - this.#parts.clock.now();
    this.#enter(pauseMs > 0 ? 'PAUSED' : 'WAITING');
    this.#scheduleTimer();
  }

  #scheduleTimer(): void {
    const { clock, pollMs } = this.#parts;
    const nowMs = clock.now();
    const pauseMs = this.#pausedUntilMs - nowMs;
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
    return this.#scanEndedAtMs + (this.#scanRequested ? restMs : Math.max(restMs, this.#pollMs));
  }

  async #claimAll(): Promise<void> {
    const { log, clock, what } = this.#parts;
    try {
      // Bounded, so that a continuous backlog cannot keep the loop from being scheduled again.
      for (let step = 0; step < STEPS_MAX && this.#mode === 'CLAIMING'; step++) {
        this.#wakePending = false;
        if (!(await this.#step())) return;
      }
      this.#wakePending = true;
    } catch (error) {
      if (!this.#databaseDown) log.warn({ err: error }, `claiming ${what} failed, retrying`);
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
    const { rowsMax, perQueue } = this.#parts.capacity();
    this.#isFull = rowsMax <= 0;
    if (this.#isFull) {
      this.#hasBacklog = true;
      return false;
    }
    const { clock } = this.#parts;
    const startedAtMs = clock.now();
    const scanning = this.#scanCursor !== undefined;
    const clockSetBack = startedAtMs < this.#scanEndedAtMs;
    if (scanning || clockSetBack || startedAtMs >= this.#nextScanAtMs()) {
      await this.#continueScan(startedAtMs);
    }
    const nowMs = clock.now();
    const queuesMax = Math.max(1, Math.floor(rowsMax / PER_QUEUE_MIN));
    this.#pickedAtMs = nowMs;
    const queues = this.#queues.pick(nowMs, queuesMax, perQueue);
    const share = Math.floor(rowsMax / queues.length);
    for (const queue of queues) queue.max = Math.min(queue.max, share);
    if (queues.length > 0) {
      this.#lastClaim = this.#claim(queues);
      await this.#lastClaim;
    }
    this.#hasBacklog = this.#queues.hasDue(nowMs);
    return this.#scanCursor !== undefined || (queues.length > 0 && this.#hasBacklog);
  }

  /** The first query after a failure claims nothing. */
  async #probeDatabase(): Promise<void> {
    const { clock, probe, log } = this.#parts;
    await probe();
    this.#databaseDown = false;
    this.#scanRequested = true;
    this.#pausedUntilMs = clock.now() + OUTAGE_GRACE_MS;
    log.info({ resumesInMs: OUTAGE_GRACE_MS }, 'database is back');
  }

  /** Scans in batches, so that claims run in between. */
  async #continueScan(nowMs: number): Promise<void> {
    const { clock, scan, stopwatchMs } = this.#parts;
    const startedAtMs = stopwatchMs();
    if (this.#scanCursor === undefined) {
      this.#scanRequested = false;
      this.#scanFoundRows = false;
      this.#scanDurationMs = 0;
      // Before the scan, so that what is expected while it runs counts.
      this.#pollMs = Math.min(this.#pollMs * 2, this.#parts.pollRestMs);
    }
    const found = await scan(this.#scanCursor, SCAN_BATCH);
    this.#scanDurationMs += stopwatchMs() - startedAtMs;
    this.#queues.update(found, nowMs);
    if (found.length > 0) this.#scanFoundRows = true;
    if (found.length >= SCAN_BATCH) {
      this.#scanCursor = found.at(-1);
      return;
    }
    this.#queues.finishScan(nowMs);
    this.#scanCursor = undefined;
    if (this.#scanFoundRows) this.#pollMs = this.#parts.pollMs;
    this.#scanEndedAtMs = clock.now();
  }

  async #claim(queues: readonly ClaimableQueue<Queue>[]): Promise<void> {
    const { clock, claim, admit, holderId, leaseMs, queueIdOfRow } = this.#parts;
    const terms = newLease(holderId(), clock.now(), leaseMs);
    const rows = await claim(queues, terms);
    this.#queues.recordClaim(queues, rows.map(queueIdOfRow));
    admit(rows, terms);
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

export interface ClaimLoopParts<Queue, Row> {
  /** What is claimed, in the plural, for the log. */
  what: string;
  clock: Clock;
  /** Measures how long scans take; unlike the clock, it is never set. */
  stopwatchMs: () => number;
  log: Log;
  queueId: (queue: Queue) => string;
  queueIdOfRow: (row: Row) => string;
  /** Reads the queues after one of them, or from the first, in a fixed order. */
  scan: (after: Queue | undefined, queuesMax: number) => Promise<FoundQueue<Queue>[]>;
  claim: (queues: readonly ClaimableQueue<Queue>[], terms: LeaseTerms) => Promise<Row[]>;
  /** Any query; it succeeds when the database is available. */
  probe: () => Promise<unknown>;
  capacity: () => ClaimCapacity<Queue>;
  admit: (rows: Row[], terms: LeaseTerms) => void;
  /** The holder of new leases (lease-holder.ts). */
  holderId: () => number;
  leaseMs: number;
  pollMs: number;
  /**
   * The longest interval between scans while no queue has rows. More than `pollMs` only where every row
   * that is added is announced: other processes may insert rows without a notification.
   */
  pollRestMs: number;
}

/** How many rows may be claimed now; none while results cannot be recorded. */
export interface ClaimCapacity<Queue> {
  rowsMax: number;
  perQueue: (queue: Queue) => number;
}

const STEPS_MAX = 100;
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
 * During a database outage leases expire while every node holds results that it could not write.
 * Claims wait until all nodes have had time to write them: claiming at once would send twice.
 */
const OUTAGE_GRACE_MS = 2 * RETRY_MAX_MS;
