import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import {
  type ClaimCursor,
  type Claimed,
  type ClaimedRow,
  type ClaimRequest,
  type IdRange,
  ROUND_START,
} from './claim-store.ts';
import { newLease } from './lease.ts';
import { WAIT_MAX_MS } from './recorder.ts';

/**
 * Fetches what is due into memory, as long as there is room. It goes round all queues (workspace and
 * lane), a few rows of each, and rests when a round has found nothing. A notice of new rows or a
 * free place wakes it at once; by itself it looks twice a second, which is also how a scheduled
 * message starts on time.
 */
export class ClaimLoop {
  readonly #parts: ClaimLoopParts;
  #cursor: ClaimCursor = ROUND_START;
  #running = false;
  #claiming: Promise<void> | undefined;
  #wanted = false;
  #restUntilMs = 0;
  #timer: Timer | undefined;
  #failing = false;
  #leftBehind = false;
  #range: IdRange = { oldest: '', newest: '' };
  #rangeKnownAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ClaimLoopParts) {
    this.#parts = parts;
  }

  /** The last claim had to leave rows for want of room. */
  get leftBehind(): boolean {
    return this.#leftBehind;
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
  notice(): void {
    this.#rangeKnownAtMs = Math.min(
      this.#rangeKnownAtMs,
      this.#parts.clock.now() - RANGE_KNOWN_MS + NOTICE_KNOWN_MS,
    );
    this.wake();
  }

  /** Something may be due, or there is room again. */
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
    const waitMs = Math.max(this.#wanted ? 0 : pollMs, this.#restUntilMs - clock.now());
    this.#timer = clock.after(waitMs, () => {
      // Timers may fire a moment before their time by the wall clock. This one is the end of the
      // rest whatever the clock says: were it turned away, nothing would ever look again.
      this.#restUntilMs = 0;
      this.wake();
    });
  }

  async #run(): Promise<void> {
    const { log } = this.#parts;
    try {
      // Bounded: a claim that goes on for ever would never let a stop through.
      for (let round = 0; round < 100 && this.#running; round++) {
        this.#wanted = false;
        if (!(await this.#claimOnce())) return;
      }
      this.#wanted = true;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, 'nothing can be claimed at the moment');
      this.#failing = true;
      this.#restUntilMs = this.#parts.clock.now() + WAIT_MAX_MS;
    }
  }

  /** True when it is worth going on at once. */
  async #claimOnce(): Promise<boolean> {
    const { clock, claim, findRange, admit, leaseMs, windowMs } = this.#parts;
    const room = this.#failing ? NO_ROOM : this.#parts.room();
    if (room.rowsMax <= 0 && !this.#failing) {
      this.#leftBehind = true;
      return false;
    }
    const nowMs = clock.now();
    const leaseEndsAtMs = nowMs + leaseMs;
    if (nowMs - this.#rangeKnownAtMs >= RANGE_KNOWN_MS) {
      this.#range = await findRange(nowMs);
      this.#rangeKnownAtMs = nowMs;
    }
    const perQueueMax = Math.max(PER_QUEUE_MIN, Math.floor(room.rowsMax / 8));
    const claimed = await claim({
      after: this.#cursor,
      nowMs,
      lease: newLease(),
      leaseEndsAtMs,
      skipWorkspaces: room.skipWorkspaces,
      queuesMax: QUEUES_MAX,
      perQueueMax,
      rowsMax: room.rowsMax,
      range: this.#range,
      windowMs,
    });
    if (this.#failing) {
      this.#failing = false;
      this.#restUntilMs = clock.now() + OUTAGE_GRACE_MS;
      this.#parts.log.info('storage is back: claiming again soon');
      return false;
    }
    this.#leftBehind = claimed.rows.length >= room.rowsMax || room.skipWorkspaces.length > 0;
    const startedMidway = this.#cursor !== ROUND_START;
    this.#cursor = claimed.cursor ?? ROUND_START;
    admit(claimed.rows, leaseEndsAtMs);
    // The end of the round says nothing about the queues before the place where this claim began.
    return claimed.cursor !== undefined || startedMidway || claimed.rows.length >= perQueueMax;
  }
}

export interface ClaimLoopParts {
  clock: Clock;
  log: Log;
  claim: (request: ClaimRequest) => Promise<Claimed>;
  findRange: (nowMs: number) => Promise<IdRange>;
  /** How much may be taken in now; nothing while results cannot be recorded. */
  room: () => { rowsMax: number; skipWorkspaces: string[] };
  admit: (rows: ClaimedRow[], leaseEndsAtMs: number) => void;
  leaseMs: number;
  windowMs: number;
  pollMs: number;
}

/** How long the range of unfinished ids is believed, without and with a notice. */
const RANGE_KNOWN_MS = 60_000;
const NOTICE_KNOWN_MS = 500;
/** After a failure the first claim takes nothing: it only asks whether storage is back. */
const NO_ROOM = { rowsMax: 0, skipWorkspaces: [] };
/** Of each queue at least this much, so that a claim is worth its cost. */
const PER_QUEUE_MIN = 10;
/** How far one claim looks: a bound on its cost when very many queues have nothing due. */
const QUEUES_MAX = 500;
/**
 * After the database was gone, leases have run out while every node holds results that it could not
 * write. Whoever claims waits until all have had the time to write them: taking over at once would
 * send that mail twice.
 */
const OUTAGE_GRACE_MS = 2 * WAIT_MAX_MS;
