import { Fifo } from './fifo.ts';

/**
 * Takes turns on the event loop. Work that holds it for milliseconds waits for its turn: one per
 * iteration of the loop, round-robin across keys (the workspaces). Everything else is served between
 * two turns, so a caller with many such requests costs others one turn and not its whole queue.
 */
export class Turns {
  /** In the order of service: a key that was served moves to the end. */
  readonly #queues = new Map<string, Fifo<() => void>>();

  /** Resolves when it is the caller's turn. */
  next(key: string): Promise<void> {
    return new Promise((resolve) => {
      const isIdle = this.#queues.size === 0;
      const queue = this.#queues.get(key) ?? new Fifo<() => void>();
      queue.push(resolve);
      this.#queues.set(key, queue);
      if (isIdle) setImmediate(() => this.#startNext());
    });
  }

  #startNext(): void {
    for (const [key, queue] of this.#queues) {
      const start = queue.shift();
      this.#queues.delete(key);
      if (queue.size > 0) this.#queues.set(key, queue);
      start?.();
      break;
    }
    if (this.#queues.size > 0) setImmediate(() => this.#startNext());
  }
}

/** A thread has one event loop, so all of its work shares these turns. */
export const eventLoopTurns = new Turns();
