/** A queue (workspace and lane) and the first moment at which something in it is due. */
export interface FoundQueue {
  workspaceId: string;
  lane: number;
  dueAtMs: number;
}

export type Queue = Pick<FoundQueue, 'workspaceId' | 'lane'>;

/**
 * What a node knows of the queues: which of them have something due, and when the next one will. It
 * is learnt by walking past all of them, which costs something for each, so claims go by what is
 * known here and leave the walk for now and then. What is known may be out of date: then a claim
 * comes back with nothing, and the queue rests until the next walk.
 */
export class DueQueues {
  /** In the order of their turns. */
  readonly #queues = new Map<string, KnownQueue>();
  #scan = 0;

  update(found: readonly FoundQueue[], nowMs: number): void {
    for (const { workspaceId, lane, dueAtMs } of found) {
      const key = keyOf(workspaceId, lane);
      const known = this.#queues.get(key);
      if (known) {
        known.dueAtMs = dueAtMs;
        known.scan = this.#scan;
      } else if (dueAtMs <= nowMs + AHEAD_MS) {
        this.#queues.set(key, { workspaceId, lane, dueAtMs, scan: this.#scan });
      }
    }
  }

  /** The walk has been everywhere: what it has not met is empty. */
  finishScan(nowMs: number): void {
    for (const [key, queue] of this.#queues) {
      if (queue.scan !== this.#scan || queue.dueAtMs > nowMs + AHEAD_MS) this.#queues.delete(key);
    }
    this.#scan += 1;
  }

  /** The next queues with something due, at most `max`; each goes to the end of the line. */
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
   * A claim has asked each of the queues for so many rows and got these. Whoever gave fewer has no
   * more, or another node is just taking them.
   */
  recordClaim(
    queues: readonly Queue[],
    rows: readonly { workspace_id: string; lane: number }[],
    perQueueMax: number,
  ): void {
    const counts = new Map<string, number>();
    for (const { workspace_id, lane } of rows) {
      const key = keyOf(workspace_id, lane);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const { workspaceId, lane } of queues) {
      const key = keyOf(workspaceId, lane);
      const queue = this.#queues.get(key);
      if (queue && (counts.get(key) ?? 0) < perQueueMax) queue.dueAtMs = Number.POSITIVE_INFINITY;
    }
  }

  hasDue(nowMs: number): boolean {
    for (const { dueAtMs } of this.#queues.values()) if (dueAtMs <= nowMs) return true;
    return false;
  }

  /** When a queue will be due that is not yet. */
  nextDueAtMs(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAtMs } of this.#queues.values()) {
      if (dueAtMs > nowMs && dueAtMs < next) next = dueAtMs;
    }
    return next;
  }
}

interface KnownQueue extends FoundQueue {
  /** The walk that met it last. */
  scan: number;
}

/** What is due later than this is learnt in time by a later walk. */
const AHEAD_MS = 120_000;

function keyOf(workspaceId: string, lane: number): string {
  return `${workspaceId}/${lane}`;
}
