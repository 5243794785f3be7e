import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Limits responses that may be as large as a message or a whole list, or that are expensive to
 * find. Each is held in memory until the client has read it and occupies a database connection
 * while it is read. A workspace may have a few in progress at a time; further ones wait, without
 * affecting other workspaces.
 */
export class LargeResponseLimiter {
  readonly #concurrentMax: number;
  readonly #byWorkspace = new Map<string, WorkspaceQueue>();
  readonly #admitted = new WeakSet<AbortSignal>();

  constructor(concurrentMax = 4) {
    this.#concurrentMax = concurrentMax;
  }

  /**
   * Resolves when the response may start. The slot is released when `signal` aborts: the client
   * has read the response or disconnected. Rejects if the client disconnects while waiting.
   *
   * A request whose response is made from several large ones needs one slot: with one for each, it
   * would wait for itself.
   */
  acquire(workspaceId: string, signal: AbortSignal): Promise<void> {
    if (this.#admitted.has(signal)) return Promise.resolve();
    const queue = this.#byWorkspace.get(workspaceId) ?? { running: 0, waiting: [] };
    this.#byWorkspace.set(workspaceId, queue);
    if (queue.waiting.length >= WAITING_MAX) {
      const detail = `A workspace may wait for at most ${WAITING_MAX} large responses at a time.`;
      throw new RefusedError('quota_exceeded', detail, { retryAfterSeconds: 1 });
    }
    return new Promise((resolve, reject) => {
      const waiter = { begin: resolve, runs: false };
      const release = (): void => {
        if (waiter.runs) queue.running -= 1;
        else {
          queue.waiting.splice(queue.waiting.indexOf(waiter), 1);
          // No client receives this error; it only prevents the work.
          reject(new RefusedError('malformed_request', 'The client disconnected while waiting.'));
        }
        this.#startNext(workspaceId, queue);
      };
      queue.waiting.push(waiter);
      this.#admitted.add(signal);
      if (signal.aborted) release();
      else {
        signal.addEventListener('abort', release, { once: true });
        this.#startNext(workspaceId, queue);
      }
    });
  }

  #startNext(workspaceId: string, queue: WorkspaceQueue): void {
    while (queue.running < this.#concurrentMax) {
      const waiter = queue.waiting.shift();
      if (!waiter) break;
      waiter.runs = true;
      queue.running += 1;
      waiter.begin();
    }
    if (queue.running === 0) this.#byWorkspace.delete(workspaceId);
  }
}

interface WorkspaceQueue {
  running: number;
  waiting: { begin: () => void; runs: boolean }[];
}

const WAITING_MAX = 1_000;
