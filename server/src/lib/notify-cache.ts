import type { Clock } from './clock.ts';

/**
 * A cache of database reads that is invalidated by notifications (db/listen.ts). Entries belong to a
 * group, usually a workspace; a notification invalidates the whole group. How long an entry is used
 * depends on how certain it is that notifications arrive. Concurrent callers share a read, but a read
 * that started before an invalidation is not used by callers that come after it.
 */
export class NotifyCache<T> {
  readonly #options: NotifyCacheOptions;
  /** By group and name. Joining the two into one string would cost every lookup more than the rest. */
  readonly #groups = new Map<string, Map<string, Entry<T>>>();
  /** All entries, oldest first. */
  readonly #byAge = new Set<Entry<T>>();

  constructor(parts: NotifyCacheOptions) {
    this.#options = parts;
  }

  /** Returns a cached value synchronously, so that most requests do not wait. */
  get(group: string, name: string, read: () => Promise<T>): T | Promise<T> {
    const nowMs = this.#options.clock.now();
    const cached = this.#groups.get(group)?.get(name);
    if (cached && nowMs - cached.readAtMs < this.#options.maxAgeMs()) {
      return cached.settled ? cached.settled.value : cached.reading;
    }
    if (cached) this.#evict(cached);
    return this.#read(group, name, nowMs, read);
  }

  /** Something in this group changed. */
  invalidate(group: string): void {
    for (const entry of this.#groups.get(group)?.values() ?? []) this.#byAge.delete(entry);
    this.#groups.delete(group);
  }

  invalidateAll(): void {
    this.#groups.clear();
    this.#byAge.clear();
  }

  #read(group: string, name: string, readAtMs: number, read: () => Promise<T>): Promise<T> {
    const entry: Entry<T> = { group, name, readAtMs, reading: read(), settled: undefined };
    const entries = this.#groups.get(group);
    if (entries) entries.set(name, entry);
    else this.#groups.set(group, new Map([[name, entry]]));
    this.#byAge.add(entry);
    if (this.#byAge.size > this.#options.entriesMax) {
      this.#evict(this.#byAge.values().next().value as Entry<T>);
    }
    entry.reading.then(
      (value) => {
        entry.settled = { value };
      },
      // A failed read is not cached.
      () => this.#evict(entry),
    );
    return entry.reading;
  }

  /** Does nothing if it was invalidated or evicted already. */
  #evict(entry: Entry<T>): void {
    if (!this.#byAge.delete(entry)) return;
    const entries = this.#groups.get(entry.group);
    entries?.delete(entry.name);
    if (entries?.size === 0) this.#groups.delete(entry.group);
  }
}

export interface NotifyCacheOptions {
  clock: Clock;
  /** How long an entry may be used that was not invalidated (NotificationListener.cacheMaxAgeMs). */
  maxAgeMs: () => number;
  entriesMax: number;
}

interface Entry<T> {
  group: string;
  name: string;
  readAtMs: number;
  reading: Promise<T>;
  settled: { value: T } | undefined;
}
