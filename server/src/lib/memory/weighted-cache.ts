/** An LRU cache with a total weight. Cached values must be immutable. */
export class WeightedCache<T> {
  readonly #weightMax: number;
  readonly #entries = new Map<string, { value: T; weight: number }>();
  #weight = 0;

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T, weight: number): void {
    this.#evict(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    // An entry that exceeds the maximum alone is still kept.
    while (this.#weight > this.#weightMax && this.#entries.size > 1) {
      this.#evict(this.#entries.keys().next().value as string);
    }
  }

  #evict(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}
