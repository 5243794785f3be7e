import { randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/**
 * Wakes those who follow the ledger. Whoever commits events in this process rings: followers here
 * hear it at once, those of other nodes by a notice of its own, at most one every 100 ms. A notice
 * inside the writing statements was rejected: PostgreSQL lines up all commits that carry one behind
 * a single lock. A ring that is lost costs little: followers look by themselves every 200 ms.
 */
export class EventNotifier {
  readonly #clock: Clock;
  readonly #notifyNodes: (from: string) => Promise<void>;
  readonly #subscribers = new Set<() => void>();
  readonly #nodeId = randomBytes(8).toString('hex');
  /** How often events were committed in this process. */
  publishedCount = 0;
  #notifiedAtMs = Number.NEGATIVE_INFINITY;
  #isScheduled = false;

  constructor(parts: { clock: Clock; notifyNodes: (from: string) => Promise<void> }) {
    this.#clock = parts.clock;
    this.#notifyNodes = parts.notifyNodes;
  }

  subscribe(subscriber: () => void): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** Events were committed here. */
  publish(): void {
    this.publishedCount += 1;
    this.#wakeSubscribers();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#notifiedAtMs + NOTIFY_INTERVAL_MS - this.#clock.now();
    if (waitMs <= 0) this.#sendNotification();
    else this.#clock.after(waitMs, () => this.#sendNotification());
  }

  /** A notice came in; our own come back to us as well. */
  receive(from: string): void {
    if (from !== this.#nodeId) this.#wakeSubscribers();
  }

  #wakeSubscribers(): void {
    for (const subscriber of this.#subscribers) subscriber();
  }

  #sendNotification(): void {
    this.#isScheduled = false;
    this.#notifiedAtMs = this.#clock.now();
    // Nobody waits for it, and who misses it looks by himself.
    this.#notifyNodes(this.#nodeId).catch(() => {});
  }
}

const NOTIFY_INTERVAL_MS = 100;
