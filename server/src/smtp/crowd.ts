import { sourceNetwork } from '../accounts/people/source-network.ts';

/** Who is connected: so many in all, and so many from one source, that nobody fills the place alone. */
export class Crowd {
  readonly #max: number;
  readonly #perSourceMax: number;
  readonly #bySource = new Map<string, number>();
  #size = 0;

  constructor(max: number, perSourceMax: number) {
    this.#max = max;
    this.#perSourceMax = perSourceMax;
  }

  get size(): number {
    return this.#size;
  }

  /** Why this one cannot come in, or undefined when it did. */
  enter(ip: string): string | undefined {
    const source = sourceNetwork(ip);
    const there = this.#bySource.get(source) ?? 0;
    if (this.#size >= this.#max) return '4.3.2 Too many connections. Try again in a moment.';
    if (there >= this.#perSourceMax) return '4.7.0 Too many connections from your address.';
    this.#size += 1;
    this.#bySource.set(source, there + 1);
    return undefined;
  }

  leave(ip: string): void {
    const source = sourceNetwork(ip);
    const there = (this.#bySource.get(source) ?? 1) - 1;
    this.#size -= 1;
    if (there === 0) this.#bySource.delete(source);
    else this.#bySource.set(source, there);
  }
}
