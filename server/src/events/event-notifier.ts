import { randomBytes } from 'node:crypto';
import { SpacedCall } from '../lib/scheduling/spaced-call.ts';
import type { Clock } from '../lib/time/clock.ts';

/**
 * Wakes the consumers of the event log. Code that commits events in this process calls `publish`:
 * local subscribers are woken at once, those of other nodes by NOTIFY, at most once every 100 ms.
 * NOTIFY in the writing transactions was rejected, because PostgreSQL serializes all commits that
 * carry one. A lost notification costs little: consumers also poll every few seconds.
 */
export class EventNotifier {
  readonly #notifyNodes: SpacedCall;
  readonly #subscribers = new Set<() => void>();
  readonly #nodeId = randomBytes(8).toString('hex');
  /** How often events were committed in this process. */
  publishedCount = 0;

  constructor(parts: { clock: Clock; notifyNodes: (from: string) => Promise<void> }) {
    this.#notifyNodes = new SpacedCall(parts.clock, NOTIFY_INTERVAL_MS, () => {
      // Not awaited: a consumer that misses it polls.
      parts.notifyNodes(this.#nodeId).catch(() => {});
    });
  }

  subscribe(subscriber: () => void): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** Called after events were committed in this process. */
  publish(): void {
    this.publishedCount += 1;
    this.#wakeSubscribers();
    this.#notifyNodes.request();
  }

  /** Called for every notification. A node also receives its own. */
  receive(from: string): void {
    if (from !== this.#nodeId) this.#wakeSubscribers();
  }

  #wakeSubscribers(): void {
    for (const subscriber of this.#subscribers) subscriber();
  }
}

const NOTIFY_INTERVAL_MS = 100;
