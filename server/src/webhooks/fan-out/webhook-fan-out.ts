import type { Log } from '../../lib/log.ts';
import { inParallel, WorkLoop } from '../../lib/scheduling/work-loop.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { type LeaseTerms, newLease } from '../../queue/lease.ts';
import type { WebhookThrottle } from '../dispatch/webhook-throttle.ts';
import {
  type FanOutCapacity,
  type FanOutResult,
  type LeasedRow,
  NO_CAPACITY,
} from './fan-out-store.ts';

/** The database statements of the fan-out. */
export interface FanOutStore {
  anyEnabled: () => Promise<boolean>;
  skipToEnd: () => Promise<void>;
  fanOut: (eventsMax: number, capacity: FanOutCapacity, terms: LeaseTerms) => Promise<FanOutResult>;
  fanOutNextChunk: (
    eventsMax: number,
    capacity: FanOutCapacity,
    terms: LeaseTerms,
  ) => Promise<(FanOutResult & { more: boolean }) | undefined>;
  fanOutDueChunk: (
    capacity: FanOutCapacity,
    terms: LeaseTerms,
  ) => Promise<FanOutResult | undefined>;
}

export interface WebhookFanOutParts {
  store: FanOutStore;
  clock: Clock;
  log: Log;
  throttle: WebhookThrottle;
  capacity: () => FanOutCapacity;
  /** Of the deliveries made, this node leased some. */
  admit: (made: number, leased: LeasedRow[], terms: LeaseTerms) => void;
  /** The holder of new leases (queue/lease-holder.ts). */
  holderId: () => number;
  leaseMs: number;
  /** The longest interval between two reads of the event log. */
  pollMs: number;
}

/**
 * Follows the event log and turns events into webhook deliveries. It takes at most a tenth of the
 * time; while webhooks are throttled it runs rarely, in large batches.
 */
export class WebhookFanOut {
  readonly #parts: WebhookFanOutParts;
  readonly #loop: WorkLoop;
  #tookMs = 0;
  /** Until then at least one endpoint is assumed to be enabled. */
  #enabledUntilMs = Number.NEGATIVE_INFINITY;
  #skippedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: WebhookFanOutParts) {
    this.#parts = parts;
    this.#loop = new WorkLoop({
      clock: parts.clock,
      log: parts.log,
      task: 'webhook fan-out',
      work: () => this.#run(),
      idleMs: parts.pollMs,
      firstDelayMs: SOON_MS,
      minIntervalMs: () => this.#intervalMs(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  #intervalMs(): number {
    if (this.#parts.throttle.throttled) return THROTTLED_MS;
    return Math.min(THROTTLED_MS, Math.max(SOON_MS, 10 * this.#tookMs));
  }

  /** True when there may be more events at once. */
  async #run(): Promise<boolean> {
    const { store, clock, capacity, throttle } = this.#parts;
    if (!(await this.#hasEnabledEndpoints())) return false;
    const startedAtMs = clock.now();
    const { seen, chunkDue } = await this.#admit(capacity(), (offered, terms) =>
      store.fanOut(BATCH, offered, terms),
    );
    this.#tookMs = clock.now() - startedAtMs;
    if (chunkDue) {
      await this.#admit(capacity(), (offered, terms) => store.fanOutDueChunk(offered, terms));
      return true;
    }
    if (seen < BATCH) return false;
    // Behind, like other nodes perhaps. Mail has priority for the cores of a small installation.
    const count = throttle.throttled ? 1 : CHUNKS_AT_ONCE;
    return inParallel(count, (index) => this.#fanOutChunks(index === 0));
  }

  /**
   * True when there may be more events. Only one of several at the same time leases what it finds,
   * because the capacity is there once.
   */
  async #fanOutChunks(leases: boolean): Promise<boolean> {
    const { store, capacity } = this.#parts;
    for (let n = 0; n < CHUNKS_PER_RUN; n++) {
      const result = await this.#admit(leases ? capacity() : NO_CAPACITY, (offered, terms) =>
        store.fanOutNextChunk(BATCH, offered, terms),
      );
      if (!result?.more) return false;
    }
    return true;
  }

  async #admit<Result extends FanOutResult | undefined>(
    capacity: FanOutCapacity,
    fanOut: (offered: FanOutCapacity, terms: LeaseTerms) => Promise<Result>,
  ): Promise<Result> {
    const { clock, admit, throttle, holderId, leaseMs } = this.#parts;
    const terms = newLease(holderId(), clock.now(), leaseMs);
    const result = await fanOut(capacity, terms);
    if (result) {
      throttle.addEvents(result.seen);
      admit(result.made, result.leased, terms);
    }
    return result;
  }

  /** Without enabled endpoints the event log is not read at all. */
  async #hasEnabledEndpoints(): Promise<boolean> {
    const { store, clock } = this.#parts;
    const nowMs = clock.now();
    if (nowMs < this.#enabledUntilMs) return true;
    if (await store.anyEnabled()) {
      this.#enabledUntilMs = nowMs + ENABLED_CACHE_MS;
      return true;
    }
    if (nowMs - this.#skippedAtMs >= SKIP_TO_END_INTERVAL_MS) {
      this.#skippedAtMs = nowMs;
      await store.skipToEnd();
    }
    return false;
  }
}

const BATCH = 1_000;
const CHUNKS_AT_ONCE = 2;
/** Gives the process a chance to stop. */
const CHUNKS_PER_RUN = 10;
const SOON_MS = 5;
const THROTTLED_MS = 250;
const SKIP_TO_END_INTERVAL_MS = 10_000;
const ENABLED_CACHE_MS = 5_000;
