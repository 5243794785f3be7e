/** A queue and the time at which its first row is due. */
export type FoundQueue<Queue> = Queue & { dueAtMs: number };

/** A queue and how many of its rows may be claimed. */
export type ClaimableQueue<Queue> = Queue & { max: number };

/**
 * What this node knows about the queues: which have due rows, and when the next one will. Scanning
 * costs a lookup per queue, so claims rely on this between scans. It may be out of date: then a
 * claim returns nothing, and the queue is skipped until the next scan.
 */
export class DueQueues<Queue> {
  readonly #idOf: (queue: Queue) => string;
  /** In the order of their turns. */
  readonly #queues = new Map<string, KnownQueue<Queue>>();
  #scan = 0;

  constructor(idOf: (queue: Queue) => string) {
    this.#idOf = idOf;
  }

  update(found: readonly FoundQueue<Queue>[], nowMs: number): void {
    for (const queue of found) {
      const { dueAtMs } = queue;
      const id = this.#idOf(queue);
      const known = this.#queues.get(id);
      if (known) {
        known.dueAtMs = dueAtMs;
        known.scan = this.#scan;
      } else if (dueAtMs <= nowMs + AHEAD_MS) {
        this.#queues.set(id, { queue, dueAtMs, scan: this.#scan });
      }
    }
  }

  /** A scan is complete: queues that it did not find are empty. */
  finishScan(nowMs: number): void {
    for (const [id, queue] of this.#queues) {
      if (queue.scan !== this.#scan || queue.dueAtMs > nowMs + AHEAD_MS) this.#queues.delete(id);
    }
    this.#scan += 1;
  }

  /**
   * The next queues with due rows and capacity, at most `max`; each moves to the end of the line.
   */
  pick(nowMs: number, max: number, capacityOf: (queue: Queue) => number): ClaimableQueue<Queue>[] {
    const picked: [string, KnownQueue<Queue>, number][] = [];
    for (const [id, known] of this.#queues) {
      if (picked.length >= max) break;
      if (known.dueAtMs > nowMs) continue;
      const capacity = capacityOf(known.queue);
      if (capacity > 0) picked.push([id, known, capacity]);
    }
    for (const [id, known] of picked) {
      this.#queues.delete(id);
      this.#queues.set(id, known);
    }
    return picked.map(([, { queue }, capacity]) => ({ ...queue, max: capacity }));
  }

  /**
   * Records the queues of the rows that a claim returned. A queue that returned fewer than requested
   * is empty, or another node is claiming from it.
   */
  recordClaim(queues: readonly ClaimableQueue<Queue>[], idsOfRows: readonly string[]): void {
    const counts = new Map<string, number>();
    for (const id of idsOfRows) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const queue of queues) {
      const id = this.#idOf(queue);
      const known = this.#queues.get(id);
      if (known && (counts.get(id) ?? 0) < queue.max) known.dueAtMs = Number.POSITIVE_INFINITY;
    }
  }

  hasDue(nowMs: number): boolean {
    for (const { dueAtMs } of this.#queues.values()) if (dueAtMs <= nowMs) return true;
    return false;
  }

  /** When the next queue that is not due yet becomes due. */
  nextDueAtMs(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAtMs } of this.#queues.values()) {
      if (dueAtMs > nowMs && dueAtMs < next) next = dueAtMs;
    }
    return next;
  }
}

interface KnownQueue<Queue> {
  queue: Queue;
  dueAtMs: number;
  /** The scan that found the queue last. */
  scan: number;
}

/** Queues due later than this are found in time by a later scan. */
const AHEAD_MS = 120_000;
