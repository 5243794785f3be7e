import { WAIT_MAX_MS } from '../db/patient-writes.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import {
  type ClaimedRow,
  type ClaimRequest,
  type IdRange,
  SCAN_START,
  type ScanRequest,
} from './claim-store.ts';
import { DueQueues, type FoundQueue, type Queue } from './due-queues.ts';
import { newLeaseToken } from './lease.ts';

/**
 * Fetches what is due into memory, as long as there is room: a few rows of each queue (workspace and
 * lane) in turn. Which queues have something due is found out by walking past all of them, after a
 * notice of new rows and by itself twice a second. Where there are so many queues that this takes
 * time, walks come as seldom as they are long, and claims go on by what the last one has found.
 */
export class ClaimLoop {
  readonly #parts: ClaimLoopParts;
  readonly #queues = new DueQueues();
  #running = false;
  #claiming: Promise<void> | undefined;
  #wanted = false;
  #restUntilMs = 0;
  #timer: Timer | undefined;
  #failing = false;
  #hasBacklog = false;
  #roomless = false;
  /** How far the walk has come; ROUND_START between two of them. */
  #walkedTo: Queue = SCAN_START;
  #walkWanted = true;
  #walkTookMs = 0;
  #walkEndedAtMs = 0;
  #pickedAtMs = 0;
  #range: IdRange = { oldest: '', newest: '' };
  #rangeKnownAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ClaimLoopParts) {
    this.#parts = parts;
  }

  /** The last claim had to leave rows for want of room. */
  get leftBehind(): boolean {
    return this.#hasBacklog;
  }

  start(): void {
    this.#running = true;
    this.wake();
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#timer?.cancel();
    await this.#claiming;
  }

  /** Somebody says that rows became due: perhaps old ones, taken up again. */
  notifyDue(): void {
    this.#walkWanted = true;
    this.#rangeKnownAtMs = Math.min(
      this.#rangeKnownAtMs,
      this.#parts.clock.now() - RANGE_KNOWN_MS + NOTICE_KNOWN_MS,
    );
    this.wake();
  }

  /** There is room again, or time has passed. */
  wake(): void {
    this.#wanted = true;
    if (!this.#running || this.#claiming || this.#parts.clock.now() < this.#restUntilMs) return;
    this.#timer?.cancel();
    this.#claiming = this.#run().finally(() => {
      this.#claiming = undefined;
      this.#rest();
    });
  }

  #rest(): void {
    if (!this.#running) return;
    const { clock, pollMs } = this.#parts;
    const nowMs = clock.now();
    const restMs = this.#restUntilMs - nowMs;
    const waitMs = this.#wanted ? 0 : this.#roomless ? pollMs : this.#nextAtMs() - nowMs;
    // Whatever was reckoned from a clock that has been set back since: never longer than this.
    const longestMs = Math.max(pollMs, WALK_REST_MAX_MS);
    this.#timer = clock.after(Math.max(0, restMs, Math.min(waitMs, longestMs)), () => {
      // Timers may fire a moment before their time by the wall clock. This one is the end of the
      // rest whatever the clock says: were it turned away, nothing would ever look again.
      this.#restUntilMs = 0;
      this.wake();
    });
  }

  #nextAtMs(): number {
    // From the last look on, not from now: what became due in between is not to be missed.
    return Math.min(this.#nextWalkAtMs(), this.#queues.nextDueAtMs(this.#pickedAtMs));
  }

  #nextWalkAtMs(): number {
    const leastMs = this.#hasBacklog ? WALK_REST_BUSY_MS : 0;
    const restMs = Math.min(Math.max(leastMs, this.#walkTookMs * WALK_REST), WALK_REST_MAX_MS);
    const { pollMs } = this.#parts;
    return this.#walkEndedAtMs + (this.#walkWanted ? restMs : Math.max(restMs, pollMs));
  }

  async #run(): Promise<void> {
    const { log } = this.#parts;
    try {
      // Bounded: a claim that goes on for ever would never let a stop through.
      for (let step = 0; step < 100 && this.#running; step++) {
        this.#wanted = false;
        if (!(await this.#step())) return;
      }
      this.#wanted = true;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, 'nothing can be claimed at the moment');
      this.#failing = true;
      this.#restUntilMs = this.#parts.clock.now() + WAIT_MAX_MS;
    }
  }

  /** True when it is worth going on at once. */
  async #step(): Promise<boolean> {
    if (this.#failing) {
      await this.#askWhetherStorageIsBack();
      return false;
    }
    const room = this.#parts.capacity();
    this.#roomless = room.rowsMax <= 0;
    if (this.#roomless) {
      this.#hasBacklog = true;
      return false;
    }
    const { clock } = this.#parts;
    const startedAtMs = clock.now();
    const walking = this.#walkedTo !== SCAN_START;
    // A clock that was set back says nothing of when the last walk was.
    const setBack = startedAtMs < this.#walkEndedAtMs;
    if (walking || setBack || startedAtMs >= this.#nextWalkAtMs()) await this.#walkOn(startedAtMs);
    const nowMs = clock.now();
    const queuesMax = Math.max(1, Math.floor(room.rowsMax / PER_QUEUE_MIN));
    this.#pickedAtMs = nowMs;
    const queues = this.#queues.pick(nowMs, room.skipWorkspaces, queuesMax);
    if (queues.length > 0) await this.#claim(queues, Math.floor(room.rowsMax / queues.length));
    this.#hasBacklog = this.#queues.hasDue(nowMs);
    return this.#walkedTo !== SCAN_START || (queues.length > 0 && this.#hasBacklog);
  }

  /** After a failure the first question takes nothing. */
  async #askWhetherStorageIsBack(): Promise<void> {
    const { clock, findRange, log } = this.#parts;
    await findRange(clock.now());
    this.#failing = false;
    this.#walkWanted = true;
    this.#restUntilMs = clock.now() + OUTAGE_GRACE_MS;
    log.info('storage is back: claiming again soon');
  }

  /** A stretch of the walk, so that claims come in between. */
  async #walkOn(nowMs: number): Promise<void> {
    const { clock, findRange, scan: walk, stopwatchMs } = this.#parts;
    const startedAtMs = stopwatchMs();
    if (this.#walkedTo === SCAN_START) {
      this.#walkWanted = false;
      this.#walkTookMs = 0;
      if (nowMs - this.#rangeKnownAtMs >= RANGE_KNOWN_MS) {
        this.#range = await findRange(nowMs);
        this.#rangeKnownAtMs = nowMs;
      }
    }
    const found = await walk({
      after: this.#walkedTo,
      queuesMax: QUEUES_MAX,
      range: this.#range,
    });
    this.#walkTookMs += stopwatchMs() - startedAtMs;
    this.#queues.update(found, nowMs);
    const last = found.at(-1);
    if (last && found.length >= QUEUES_MAX) {
      this.#walkedTo = last;
      return;
    }
    this.#queues.finishScan(nowMs);
    this.#walkedTo = SCAN_START;
    this.#walkEndedAtMs = clock.now();
  }

  async #claim(queues: readonly Queue[], perQueueMax: number): Promise<void> {
    const { clock, claim, admit, leaseMs, retryWindowMs: windowMs } = this.#parts;
    const nowMs = clock.now();
    const leaseEndsAtMs = nowMs + leaseMs;
    const rows = await claim({
      queues,
      perQueueMax,
      nowMs,
      lease: newLeaseToken(),
      leaseEndsAtMs,
      range: this.#range,
      retryWindowMs: windowMs,
    });
    this.#queues.recordClaim(queues, rows, perQueueMax);
    admit(rows, leaseEndsAtMs);
  }
}

export interface ClaimLoopParts {
  clock: Clock;
  /** What walks cost is told by this: the clock may be moved. */
  stopwatchMs: () => number;
  log: Log;
  scan: (request: ScanRequest) => Promise<FoundQueue[]>;
  claim: (request: ClaimRequest) => Promise<ClaimedRow[]>;
  findRange: (nowMs: number) => Promise<IdRange>;
  /** How much may be taken in now; nothing while results cannot be recorded. */
  capacity: () => { rowsMax: number; skipWorkspaces: string[] };
  admit: (rows: ClaimedRow[], leaseEndsAtMs: number) => void;
  leaseMs: number;
  retryWindowMs: number;
  pollMs: number;
}

/** How long the range of unfinished ids is believed, without and with a notice. */
const RANGE_KNOWN_MS = 60_000;
const NOTICE_KNOWN_MS = 500;
/** Of each queue at least this much, so that a claim is worth its cost. */
const PER_QUEUE_MIN = 10;
/** How far a walk goes before a claim gets its turn. */
const QUEUES_MAX = 500;
/** After a walk comes a rest so many times as long, up to a bound: at most a fifth goes into walking. */
const WALK_REST = 4;
const WALK_REST_MAX_MS = 5_000;
/** In a flood every commit is a notice. */
const WALK_REST_BUSY_MS = 20;
/**
 * After the database was gone, leases have run out while every node holds results that it could not
 * write. Whoever claims waits until all have had the time to write them: taking over at once would
 * send that mail twice.
 */
const OUTAGE_GRACE_MS = 2 * WAIT_MAX_MS;
