import type { Clock } from './clock.ts';

/**
 * Answers of the database, believed until a notice says that something of their group (a workspace)
 * changed; while notices may be lost, for a second only. Askers of the same moment share one read. A
 * read that was under way when the notice came is handed to nobody who asks after it.
 */
export class Believed<T> {
  readonly #parts: BelievedParts;
  readonly #known = new Map<string, Known<T>>();
  /** Names by group, so that forgetting one group costs nothing to the others. */
  readonly #groups = new Map<string, Set<string>>();

  constructor(parts: BelievedParts) {
    this.#parts = parts;
  }

  /** At once when it is known: the usual request waits for nothing. */
  get(group: string, name: string, read: () => Promise<T>): T | Promise<T> {
    const id = `${group}/${name}`;
    const nowMs = this.#parts.clock.now();
    const known = this.#known.get(id);
    const believedMs = this.#parts.noticesArrive() ? BELIEVED_MS : BELIEVED_WITHOUT_NOTICES_MS;
    if (known && nowMs - known.readAtMs < believedMs) {
      return known.settled ? known.settled.value : known.reading;
    }
    return this.#read(group, id, nowMs, read);
  }

  /** Something of this group changed. */
  forget(group: string): void {
    for (const id of this.#groups.get(group) ?? []) this.#known.delete(id);
    this.#groups.delete(group);
  }

  forgetAll(): void {
    this.#known.clear();
    this.#groups.clear();
  }

  #read(group: string, id: string, readAtMs: number, read: () => Promise<T>): Promise<T> {
    const entry: Known<T> = { group, readAtMs, reading: read(), settled: undefined };
    this.#known.delete(id);
    this.#known.set(id, entry);
    const names = this.#groups.get(group);
    if (names) names.add(id);
    else this.#groups.set(group, new Set([id]));
    if (this.#known.size > this.#parts.entriesMax) this.#dropOldest();
    entry.reading.then(
      (value) => {
        entry.settled = { value };
      },
      () => {
        // What could not be read is asked for again.
        if (this.#known.get(id) === entry) this.#drop(id, entry);
      },
    );
    return entry.reading;
  }

  #dropOldest(): void {
    const oldest = this.#known.entries().next().value;
    if (oldest) this.#drop(...oldest);
  }

  #drop(id: string, entry: Known<T>): void {
    this.#known.delete(id);
    const names = this.#groups.get(entry.group);
    names?.delete(id);
    if (names?.size === 0) this.#groups.delete(entry.group);
  }
}

export interface BelievedParts {
  clock: Clock;
  /** Whether notices of changes reach this process at the moment. */
  noticesArrive: () => boolean;
  entriesMax: number;
}

interface Known<T> {
  group: string;
  readAtMs: number;
  reading: Promise<T>;
  settled: { value: T } | undefined;
}

/** Notices do arrive; this only bounds how long one that was lost unseen can matter. */
const BELIEVED_MS = 60_000;
const BELIEVED_WITHOUT_NOTICES_MS = 1_000;
