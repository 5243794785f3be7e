/**
 * Bounds the connections that are open but idle, over all receivers: with many domains that have a
 * mail server of their own, each would otherwise keep a socket for seconds after its only message.
 * The connection that has been idle for longest is closed.
 */
export class IdleConnections {
  readonly #max: number;
  /** In the order in which they became idle. */
  readonly #idle = new Set<IdleConnection>();

  constructor(max = IDLE_MAX) {
    this.#max = max;
  }

  add(connection: IdleConnection): void {
    this.#idle.add(connection);
    if (this.#idle.size <= this.#max) return;
    for (const oldest of this.#idle) {
      this.#idle.delete(oldest);
      oldest.retire();
      return;
    }
  }

  /** The connection is in use again, or closed. */
  delete(connection: IdleConnection): void {
    this.#idle.delete(connection);
  }
}

export interface IdleConnection {
  retire(): void;
}

const IDLE_MAX = 1_000;
