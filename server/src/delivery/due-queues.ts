import type { FoundQueue, Queue } from '../messages/deliveries/claim-store.ts';

/**
 * What this node knows about the queues: which have due rows, and when the next one will. Scanning
 * costs a lookup per queue, so claims rely on this between scans. It may be out of date: then a
 * claim returns nothing, and the queue is skipped until the next scan.
 */
export class DueQueues {
  /** In the order of their turns. */
  readonly #queues = new Map<string, KnownQueue>();
  #scan = 0;

  update(found: readonly FoundQueue[], nowMs: number): void {
    for (const { workspaceId, shard, dueAtMs } of found) {
      const key = keyOf(workspaceId, shard);
      const known = this.#queues.get(key);
      if (known) {
        known.dueAtMs = dueAtMs;
        known.scan = this.#scan;
      } else if (dueAtMs <= nowMs + AHEAD_MS) {
        this.#queues.set(key, { workspaceId, shard, dueAtMs, scan: this.#scan });
      }
    }
  }

  /** A scan is complete: queues that it did not find are empty. */
  finishScan(nowMs: number): void {
    for (const [key, queue] of this.#queues) {
      if (queue.scan !== this.#scan || queue.dueAtMs > nowMs + AHEAD_MS) this.#queues.delete(key);
    }
    this.#scan += 1;
  }

  /** The next queues with due rows, at most `max`; each moves to the end of the line. */
  pick(nowMs: number, skipWorkspaces: readonly string[], max: number): Queue[] {
    const skipped = new Set(skipWorkspaces);
    const picked: [string, KnownQueue][] = [];
    for (const [key, queue] of this.#queues) {
      if (picked.length >= max) break;
      if (queue.dueAtMs <= nowMs && !skipped.has(queue.workspaceId)) picked.push([key, queue]);
    }
    for (const [key, queue] of picked) {
      this.#queues.delete(key);
      this.#queues.set(key, queue);
    }
    return picked.map(([, queue]) => queue);
  }

  /**
   * Records how many rows a claim returned. A queue that returned fewer than requested is empty, or
   * another node is claiming from it.
   */
  recordClaim(
    queues: readonly Queue[],
    rows: readonly { workspace_id: string; shard: number }[],
    perQueueMax: number,
  ): void {
    const counts = new Map<string, number>();
    for (const { workspace_id, shard } of rows) {
      const key = keyOf(workspace_id, shard);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const { workspaceId, shard } of queues) {
      const key = keyOf(workspaceId, shard);
      const queue = this.#queues.get(key);
      if (queue && (counts.get(key) ?? 0) < perQueueMax) queue.dueAtMs = Number.POSITIVE_INFINITY;
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

interface KnownQueue extends FoundQueue {
  /** The scan that found the queue last. */
  scan: number;
}

/** Queues due later than this are found in time by a later scan. */
const AHEAD_MS = 120_000;

function keyOf(workspaceId: string, shard: number): string {
  return `${workspaceId}/${shard}`;
}
