import type { Clock } from './clock.ts';

/**
 * A cache of database reads that is invalidated by notifications (db/listen.ts). Entries belong to a
 * group, usually a workspace; a notification invalidates the whole group. While notifications may be
 * lost, entries are used for one second only. Concurrent callers share a read, but a read that started
 * before an invalidation is not used by callers that come after it.
 */
export class NotifyCache<T> {
  readonly #options: NotifyCacheOptions;
  readonly #entries = new Map<string, Entry<T>>();
  /** Entry ids by group, so that invalidating a group does not scan all entries. */
  readonly #groups = new Map<string, Set<string>>();

  constructor(parts: NotifyCacheOptions) {
    this.#options = parts;
  }

  /** Returns a cached value synchronously, so that most requests do not wait. */
  get(group: string, name: string, read: () => Promise<T>): T | Promise<T> {
    const id = `${group}/${name}`;
    const nowMs = this.#options.clock.now();
    const cached = this.#entries.get(id);
    const maxAgeMs = this.#options.isListening() ? MAX_AGE_MS : MAX_AGE_WHILE_NOT_LISTENING_MS;
    if (cached && nowMs - cached.readAtMs < maxAgeMs) {
      return cached.settled ? cached.settled.value : cached.reading;
    }
    return this.#read(group, id, nowMs, read);
  }

  /** Something in this group changed. */
  invalidate(group: string): void {
    for (const id of this.#groups.get(group) ?? []) this.#entries.delete(id);
    this.#groups.delete(group);
  }

  invalidateAll(): void {
    this.#entries.clear();
    this.#groups.clear();
  }

  #read(group: string, id: string, readAtMs: number, read: () => Promise<T>): Promise<T> {
    const entry: Entry<T> = { group, readAtMs, reading: read(), settled: undefined };
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    const ids = this.#groups.get(group);
    if (ids) ids.add(id);
    else this.#groups.set(group, new Set([id]));
    if (this.#entries.size > this.#options.entriesMax) this.#evictOldest();
    entry.reading.then(
      (value) => {
        entry.settled = { value };
      },
      () => {
        // A failed read is not cached.
        if (this.#entries.get(id) === entry) this.#evict(id, entry);
      },
    );
    return entry.reading;
  }

  #evictOldest(): void {
    const oldest = this.#entries.entries().next().value;
    if (oldest) this.#evict(...oldest);
  }

  #evict(id: string, entry: Entry<T>): void {
    this.#entries.delete(id);
    const ids = this.#groups.get(entry.group);
    ids?.delete(id);
    if (ids?.size === 0) this.#groups.delete(entry.group);
  }
}

export interface NotifyCacheOptions {
  clock: Clock;
  /** Whether notifications currently reach this process. */
  isListening: () => boolean;
  entriesMax: number;
}

interface Entry<T> {
  group: string;
  readAtMs: number;
  reading: Promise<T>;
  settled: { value: T } | undefined;
}

/** Bounds the effect of a notification that was lost unnoticed. */
const MAX_AGE_MS = 60_000;
const MAX_AGE_WHILE_NOT_LISTENING_MS = 1_000;
