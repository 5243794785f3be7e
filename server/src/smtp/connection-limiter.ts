import { clientNetwork } from '../lib/net/client-network.ts';

/** Who is connected: so many in all, and so many from one source, that nobody fills the place alone. */
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

  /** Why this one cannot come in, or undefined when it did. */
  acquire(ip: string): string | undefined {
    const network = clientNetwork(ip);
    const count = this.#perNetwork.get(network) ?? 0;
    if (this.#size >= this.#max) return '4.3.2 Too many connections. Try again in a moment.';
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
