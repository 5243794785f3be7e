import { randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/**
 * Wakes the consumers of the event log. Code that commits events in this process calls `publish`:
 * local subscribers are woken at once, those of other nodes by NOTIFY, at most once every 100 ms.
 * NOTIFY in the writing transactions was rejected, because PostgreSQL serializes all commits that
 * carry one. A lost notification costs little: consumers also poll every few seconds.
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

  /** Called after events were committed in this process. */
  publish(): void {
    this.publishedCount += 1;
    this.#wakeSubscribers();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#notifiedAtMs + NOTIFY_INTERVAL_MS - this.#clock.now();
    if (waitMs <= 0) this.#sendNotification();
    else this.#clock.after(waitMs, () => this.#sendNotification());
  }

  /** Called for every notification. A node also receives its own. */
  receive(from: string): void {
    if (from !== this.#nodeId) this.#wakeSubscribers();
  }

  #wakeSubscribers(): void {
    for (const subscriber of this.#subscribers) subscriber();
  }

  #sendNotification(): void {
    this.#isScheduled = false;
    this.#notifiedAtMs = this.#clock.now();
    // Not awaited: a consumer that misses it polls.
    this.#notifyNodes(this.#nodeId).catch(() => {});
  }
}

const NOTIFY_INTERVAL_MS = 100;
