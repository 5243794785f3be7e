/** Keeps what was used last, up to a total weight. What is kept must never change. */
export class WeightedCache<T> {
  readonly #weightMax: number;
  readonly #kept = new Map<string, { value: T; weight: number }>();
  #weight = 0;

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get(key: string): T | undefined {
    const entry = this.#kept.get(key);
    if (!entry) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T, weight: number): void {
    this.#drop(key);
    this.#kept.set(key, { value, weight });
    this.#weight += weight;
    // One that is heavier than all the room is kept alone.
    while (this.#weight > this.#weightMax && this.#kept.size > 1) {
      this.#drop(this.#kept.keys().next().value as string);
    }
  }

  #drop(key: string): void {
    this.#weight -= this.#kept.get(key)?.weight ?? 0;
    this.#kept.delete(key);
  }
}
