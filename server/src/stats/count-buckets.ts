import type { Mode } from '../accounts/tenant-scope.ts';

export const DIMENSIONS = ['stream', 'tag', 'template', 'domain', 'receiver'] as const;
export type Dimension = (typeof DIMENSIONS)[number] | 'all';

/** The counts of a value by counter. */
export type Sums = Map<string, number>;

/**
 * Counts by workspace, mode and time, and below that by dimension, value and counter. A key of all six
 * would be built and hashed a dozen times per message; consecutive events are mostly of the same minute,
 * which is kept at hand.
 */
export class CountBuckets {
  readonly #buckets = new Map<string, CountBucket>();
  #last: CountBucket | undefined;

  constructor(buckets: readonly CountBucket[] = []) {
    for (const bucket of buckets) this.#buckets.set(keyOf(bucket), bucket);
  }

  of(workspaceId: string, mode: Mode, atMs: number): CountBucket {
    const last = this.#last;
    if (last?.atMs === atMs && last.mode === mode && last.workspaceId === workspaceId) return last;
    const key = keyOf({ workspaceId, mode, atMs });
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      bucket = new CountBucket(workspaceId, mode, atMs);
      this.#buckets.set(key, bucket);
    }
    this.#last = bucket;
    return bucket;
  }

  /** In the order of their keys. */
  all(): CountBucket[] {
    return [...this.#buckets.values()].sort(byScope);
  }
}

export class CountBucket {
  readonly workspaceId: string;
  readonly mode: Mode;
  /** The start of the minute, hour or day. */
  readonly atMs: number;
  readonly #dimensions = new Map<Dimension, Map<string, Sums>>();

  constructor(workspaceId: string, mode: Mode, atMs: number) {
    this.workspaceId = workspaceId;
    this.mode = mode;
    this.atMs = atMs;
  }

  sumsOf(dimension: Dimension, value: string): Sums {
    let values = this.#dimensions.get(dimension);
    if (!values) {
      values = new Map();
      this.#dimensions.set(dimension, values);
    }
    let sums = values.get(value);
    if (!sums) {
      sums = new Map();
      values.set(value, sums);
    }
    return sums;
  }

  /** The counts of a dimension as they are stored; null if there are none. */
  pack(dimension: Dimension): string | null {
    const values = this.#dimensions.get(dimension);
    if (!values) return null;
    // Written here, because objects whose keys are chosen by tenants are slow and full of surprises. The
    // names of counters are ours and need no escapes.
    const members: string[] = [];
    for (const [value, sums] of values) {
      const counters: string[] = [];
      for (const [counter, n] of sums) counters.push(`"${counter}":${n}`);
      members.push(`${JSON.stringify(value)}:{${counters.join()}}`);
    }
    return `{${members.join()}}`;
  }

  /** Adds counts of a dimension as they are stored. */
  addPacked(dimension: Dimension, packed: PackedCounts): void {
    // Parsed JSON has no inherited keys, and lists of its keys and values would cost more than the sums.
    for (const value in packed) {
      const sums = this.sumsOf(dimension, value);
      const counters = packed[value] as PackedCounts[string];
      for (const counter in counters) addTo(sums, counter, counters[counter] as number);
    }
  }

  add(other: CountBucket): void {
    for (const [dimension, values] of other.#dimensions) {
      for (const [value, counters] of values) {
        const sums = this.sumsOf(dimension, value);
        for (const [counter, n] of counters) addTo(sums, counter, n);
      }
    }
  }
}

/** As parsed from JSON: counts by value and counter. */
export type PackedCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

export function addTo(sums: Sums, counter: string, n: number): void {
  sums.set(counter, (sums.get(counter) ?? 0) + n);
}

function keyOf({
  workspaceId,
  mode,
  atMs,
}: Pick<CountBucket, 'workspaceId' | 'mode' | 'atMs'>): string {
  return `${workspaceId} ${mode} ${atMs}`;
}

function byScope(a: CountBucket, b: CountBucket): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.mode === b.mode ? a.atMs - b.atMs : a.mode < b.mode ? -1 : 1;
}
