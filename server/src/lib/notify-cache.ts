import type { Clock } from './clock.ts';

/**
 * Answers of the database, believed until a notice says that something of their group (a workspace)
 * changed; while notices may be lost, for a second only. Askers of the same moment share one read. A
 * read that was under way when the notice came is handed to nobody who asks after it.
 */
export class NotifyCache<T> {
  readonly #options: NotifyCacheOptions;
  readonly #entries = new Map<string, Entry<T>>();
  /** Names by group, so that forgetting one group costs nothing to the others. */
  readonly #groups = new Map<string, Set<string>>();

  constructor(parts: NotifyCacheOptions) {
    this.#options = parts;
  }

  /** At once when it is known: the usual request waits for nothing. */
  get(group: string, name: string, read: () => Promise<T>): T | Promise<T> {
    const id = `${group}/${name}`;
    const nowMs = this.#options.clock.now();
    const known = this.#entries.get(id);
    const believedMs = this.#options.isListening() ? MAX_AGE_MS : MAX_AGE_WHILE_NOT_LISTENING_MS;
    if (known && nowMs - known.readAtMs < believedMs) {
      return known.settled ? known.settled.value : known.reading;
    }
    return this.#read(group, id, nowMs, read);
  }

  /** Something of this group changed. */
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
    const names = this.#groups.get(group);
    if (names) names.add(id);
    else this.#groups.set(group, new Set([id]));
    if (this.#entries.size > this.#options.entriesMax) this.#evictOldest();
    entry.reading.then(
      (value) => {
        entry.settled = { value };
      },
      () => {
        // What could not be read is asked for again.
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
    const names = this.#groups.get(entry.group);
    names?.delete(id);
    if (names?.size === 0) this.#groups.delete(entry.group);
  }
}

export interface NotifyCacheOptions {
  clock: Clock;
  /** Whether notices of changes reach this process at the moment. */
  isListening: () => boolean;
  entriesMax: number;
}

interface Entry<T> {
  group: string;
  readAtMs: number;
  reading: Promise<T>;
  settled: { value: T } | undefined;
}

/** Notices do arrive; this only bounds how long one that was lost unseen can matter. */
const MAX_AGE_MS = 60_000;
const MAX_AGE_WHILE_NOT_LISTENING_MS = 1_000;
