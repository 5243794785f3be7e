import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Answers that may be as large as a message or a whole list. Each is held in memory until its client
 * has read it, and reading it from the database takes a connection for a while: a workspace gets a
 * few of them at the same time, the next ones wait for their turn, and nobody else notices.
 */
export class LargeResponseLimiter {
  readonly #byWorkspace = new Map<string, WorkspaceQueue>();

  /**
   * Resolves when it is this one's turn, which ends when `gone` aborts: the client has it, or left.
   * Rejects when it left before.
   */
  acquire(workspaceId: string, signal: AbortSignal): Promise<void> {
    const queue = this.#byWorkspace.get(workspaceId) ?? { running: 0, waiting: [] };
    this.#byWorkspace.set(workspaceId, queue);
    if (queue.waiting.length >= WAITING_MAX) {
      const detail = `A workspace may wait for ${WAITING_MAX} large answers at the same time.`;
      throw new RefusedError('quota_exceeded', detail, { retryAfterSeconds: 1 });
    }
    return new Promise((resolve, reject) => {
      const waiter = { begin: resolve, runs: false };
      const release = (): void => {
        if (waiter.runs) queue.running -= 1;
        else {
          queue.waiting.splice(queue.waiting.indexOf(waiter), 1);
          // Nobody reads this; it keeps the work from being done.
          reject(new RefusedError('malformed_request', 'The client left before its turn.'));
        }
        this.#startNext(workspaceId, queue);
      };
      queue.waiting.push(waiter);
      if (signal.aborted) release();
      else {
        signal.addEventListener('abort', release, { once: true });
        this.#startNext(workspaceId, queue);
      }
    });
  }

  #startNext(workspaceId: string, queue: WorkspaceQueue): void {
    while (queue.running < CONCURRENT_MAX) {
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

const CONCURRENT_MAX = 4;
const WAITING_MAX = 1_000;
