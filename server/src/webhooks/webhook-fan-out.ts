import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { WorkLoop } from '../lib/work-loop.ts';
import { type LeaseTerms, newLease } from '../queue/lease.ts';
import type { FanOutCapacity, LeasedRow } from './fan-out-store.ts';
import type { WebhookThrottle } from './webhook-throttle.ts';

/** The database statements of the fan-out. */
export interface FanOutStore {
  anyEnabled: () => Promise<boolean>;
  skipToEnd: () => Promise<void>;
  fanOut: (
    eventsMax: number,
    capacity: FanOutCapacity,
    terms: LeaseTerms,
  ) => Promise<{ seen: number; made: number; leased: LeasedRow[] }>;
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
    const { store, clock, capacity, admit, throttle, holderId, leaseMs } = this.#parts;
    if (!(await this.#hasEnabledEndpoints())) return false;
    const terms = newLease(holderId(), clock.now(), leaseMs);
    const { seen, made, leased } = await store.fanOut(BATCH, capacity(), terms);
    this.#tookMs = clock.now() - terms.nowMs;
    throttle.addEvents(seen);
    admit(made, leased, terms);
    return seen === BATCH;
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
const SOON_MS = 5;
const THROTTLED_MS = 250;
const SKIP_TO_END_INTERVAL_MS = 10_000;
const ENABLED_CACHE_MS = 5_000;
