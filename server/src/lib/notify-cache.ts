import type { Clock } from './time/clock.ts';

/**
 * A cache of database reads that is invalidated by notifications (db/connections/listen.ts). Entries belong to a
 * group, usually a workspace; a notification invalidates the whole group. How long an entry is used
 * depends on how certain it is that notifications arrive. Concurrent callers share a read, but a read
 * that started before an invalidation is not used by callers that come after it.
 */
export class NotifyCache<T> {
  readonly #options: NotifyCacheOptions;
  readonly #groups = new Map<string, Group<T>>();
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
      return cached.reading ?? (cached.value as T);
    }
    if (cached) this.#evict(cached);
    return this.#read(group, name, nowMs, read);
  }

  /** Something in this group changed. */
  invalidate(group: string): void {
    for (const entry of this.#groups.get(group)?.all() ?? []) this.#byAge.delete(entry);
    this.#groups.delete(group);
  }

  invalidateAll(): void {
    this.#groups.clear();
    this.#byAge.clear();
  }

  #read(group: string, name: string, readAtMs: number, read: () => Promise<T>): Promise<T> {
    const reading = read();
    const entry: Entry<T> = { group, name, readAtMs, reading, value: undefined };
    const entries = this.#groups.get(group);
    if (entries) entries.add(entry);
    else this.#groups.set(group, new Group(entry));
    this.#byAge.add(entry);
    if (this.#byAge.size > this.#options.entriesMax) {
      this.#evict(this.#byAge.values().next().value as Entry<T>);
    }
    reading.then(
      (value) => {
        entry.value = value;
        entry.reading = undefined;
      },
      // A failed read is not cached.
      () => this.#evict(entry),
    );
    return reading;
  }

  /** Does nothing if it was invalidated or evicted already. */
  #evict(entry: Entry<T>): void {
    if (!this.#byAge.delete(entry)) return;
    const entries = this.#groups.get(entry.group);
    entries?.delete(entry);
    if (entries?.isEmpty) this.#groups.delete(entry.group);
  }
}

export interface NotifyCacheOptions {
  clock: Clock;
  /** How long an entry may be used that was not invalidated (NotificationListener.cacheMaxAgeMs). */
  maxAgeMs: () => number;
  entriesMax: number;
}

interface Entry<T> {
  readonly group: string;
  readonly name: string;
  readonly readAtMs: number;
  /** Undefined when `value` is known. */
  reading: Promise<T> | undefined;
  value: T | undefined;
}

/**
 * The entries of a group by name. Most groups have one, which is found without another Map: with
 * thousands of workspaces, its memory would not be in the processor's caches. Joining group and name
 * into one string would cost every lookup more than the rest.
 */
class Group<T> {
  #first: Entry<T> | undefined;
  #others: Map<string, Entry<T>> | undefined;

  constructor(first: Entry<T>) {
    this.#first = first;
  }

  get(name: string): Entry<T> | undefined {
    return this.#first?.name === name ? this.#first : this.#others?.get(name);
  }

  /** There must be no entry of this name. */
  add(entry: Entry<T>): void {
    if (!this.#first) this.#first = entry;
    else {
      this.#others ??= new Map();
      this.#others.set(entry.name, entry);
    }
  }

  delete(entry: Entry<T>): void {
    if (this.#first === entry) this.#first = undefined;
    else this.#others?.delete(entry.name);
  }

  get isEmpty(): boolean {
    return !this.#first && !this.#others?.size;
  }

  all(): Entry<T>[] {
    return [...(this.#first ? [this.#first] : []), ...(this.#others?.values() ?? [])];
  }
}
