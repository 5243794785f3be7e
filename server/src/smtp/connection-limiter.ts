import { clientNetwork } from '../lib/net/client-network.ts';

/**
 * Limits concurrent connections in total and per client network, so that no single client can use
 * up all of them.
 */
export class ConnectionLimiter {
  readonly #max: number;
  readonly #perNetworkMax: number;
  readonly #perNetwork = new Map<string, number>();
  #size = 0;

  constructor(max: number, perSourceMax: number) {
    this.#max = max;
    this.#perNetworkMax = perSourceMax;
  }

  get size(): number {
    return this.#size;
  }

  /** The reason to refuse the connection, or undefined when it was admitted. */
  acquire(ip: string): string | undefined {
    const network = clientNetwork(ip);
    const count = this.#perNetwork.get(network) ?? 0;
    if (this.#size >= this.#max) return '4.3.2 Too many connections. Try again later.';
    if (count >= this.#perNetworkMax) return '4.7.0 Too many connections from your address.';
    this.#size += 1;
    this.#perNetwork.set(network, count + 1);
    return undefined;
  }

  release(ip: string): void {
    const network = clientNetwork(ip);
    const count = (this.#perNetwork.get(network) ?? 1) - 1;
    this.#size -= 1;
    if (count === 0) this.#perNetwork.delete(network);
    else this.#perNetwork.set(network, count);
  }
}
