import type { Mode } from '../accounts/tenant-scope.ts';

export const DIMENSIONS = ['stream', 'tag', 'template', 'domain', 'receiver'] as const;
export type Dimension = (typeof DIMENSIONS)[number] | 'all';
export const ALL_DIMENSIONS = ['all', ...DIMENSIONS] as const satisfies readonly Dimension[];

/**
 * The counts of a value by counter. Searched one by one: there are few, and with thousands of workspaces in
 * a batch, Maps of two counters each were most of what counting took.
 */
class Sums {
  readonly #counters: string[] = [];
  readonly #counts: number[] = [];

  add(counter: string, n: number): void {
    const at = this.#counters.indexOf(counter);
    if (at !== -1) {
      this.#counts[at] = (this.#counts[at] as number) + n;
      return;
    }
    this.#counters.push(counter);
    this.#counts.push(n);
  }

  addAll(other: Sums): void {
    for (let at = 0; at < other.#counters.length; at++) {
      this.add(other.#counters[at] as string, other.#counts[at] as number);
    }
  }

  get(counter: string): number | undefined {
    return this.#counts[this.#counters.indexOf(counter)];
  }

  /** As JSON. */
  pack(): string {
    let members = '';
    for (let at = 0; at < this.#counters.length; at++) {
      if (at > 0) members += ',';
      members += memberStart(this.#counters[at] as string);
      members += this.#counts[at];
    }
    return `{${members}}`;
  }
}

/** The names of counters are ours: they need no escapes, and there are few. */
const MEMBER_STARTS = new Map<string, string>();
function memberStart(counter: string): string {
  let text = MEMBER_STARTS.get(counter);
  if (text === undefined) {
    text = `"${counter}":`;
    MEMBER_STARTS.set(counter, text);
  }
  return text;
}

/** Counts by workspace, mode and time; below that by dimension, value and counter. */
export class CountBuckets {
  /** Few of the same workspace: consecutive events are mostly of the same minute. */
  readonly #buckets = new Map<string, CountBucket[]>();
  #last: CountBucket | undefined;
  #size = 0;

  constructor(buckets: readonly CountBucket[] = []) {
    for (const bucket of buckets) this.#put(this.#ofWorkspace(bucket.workspaceId), bucket);
  }

  get size(): number {
    return this.#size;
  }

  of(workspaceId: string, mode: Mode, atMs: number): CountBucket {
    const last = this.#last;
    if (last?.atMs === atMs && last.mode === mode && last.workspaceId === workspaceId) return last;
    const buckets = this.#ofWorkspace(workspaceId);
    const bucket =
      find(buckets, mode, atMs) ?? this.#put(buckets, new CountBucket(workspaceId, mode, atMs));
    this.#last = bucket;
    return bucket;
  }

  /** Takes the bucket over if there was none of its workspace, mode and time. */
  add(bucket: CountBucket): void {
    const buckets = this.#ofWorkspace(bucket.workspaceId);
    const existing = find(buckets, bucket.mode, bucket.atMs);
    if (existing) existing.add(bucket);
    else this.#put(buckets, bucket);
  }

  #put(buckets: CountBucket[], bucket: CountBucket): CountBucket {
    buckets.push(bucket);
    this.#size += 1;
    return bucket;
  }

  #ofWorkspace(workspaceId: string): CountBucket[] {
    let buckets = this.#buckets.get(workspaceId);
    if (!buckets) {
      buckets = [];
      this.#buckets.set(workspaceId, buckets);
    }
    return buckets;
  }

  /** In the order of their keys. */
  all(): CountBucket[] {
    return [...this.#buckets.values()].flat().sort(byScope);
  }
}

function find(buckets: readonly CountBucket[], mode: Mode, atMs: number): CountBucket | undefined {
  return buckets.find((one) => one.atMs === atMs && one.mode === mode);
}

/** The counts of a dimension, most of which have one value. */
class Values {
  readonly value: string;
  readonly sums = new Sums();
  others: Map<string, Sums> | undefined;

  constructor(value: string) {
    this.value = value;
  }

  of(value: string): Sums {
    if (value === this.value) return this.sums;
    this.others ??= new Map();
    let sums = this.others.get(value);
    if (!sums) {
      sums = new Sums();
      this.others.set(value, sums);
    }
    return sums;
  }

  /** As JSON, written here, because objects whose keys are chosen by tenants are slow and full of surprises. */
  pack(): string {
    let members = `${JSON.stringify(this.value)}:${this.sums.pack()}`;
    for (const [value, sums] of this.others ?? []) {
      members += `,${JSON.stringify(value)}:${sums.pack()}`;
    }
    return `{${members}}`;
  }
}

export class CountBucket {
  readonly workspaceId: string;
  readonly mode: Mode;
  /** The start of the minute, hour or day. */
  readonly atMs: number;
  readonly #dimensions: Record<Dimension, Values | undefined> = {
    all: undefined,
    stream: undefined,
    tag: undefined,
    template: undefined,
    domain: undefined,
    receiver: undefined,
  };

  constructor(workspaceId: string, mode: Mode, atMs: number) {
    this.workspaceId = workspaceId;
    this.mode = mode;
    this.atMs = atMs;
  }

  sumsOf(dimension: Dimension, value: string): Sums {
    let values = this.#dimensions[dimension];
    if (!values) {
      values = new Values(value);
      this.#dimensions[dimension] = values;
    }
    return values.of(value);
  }

  /** The counts of a dimension as they are stored; null if there are none. */
  pack(dimension: Dimension): string | null {
    const values = this.#dimensions[dimension];
    return values ? values.pack() : null;
  }

  /** The counts of all dimensions as they are stored. */
  packAll(): string {
    let members = '';
    for (const dimension of ALL_DIMENSIONS) {
      const values = this.#dimensions[dimension];
      if (!values) continue;
      if (members !== '') members += ',';
      members += `"${dimension}":${values.pack()}`;
    }
    return `{${members}}`;
  }

  /** Adds counts as they are stored. */
  addStored(counts: StoredCounts): void {
    for (const dimension in counts) {
      const packed = counts[dimension as Dimension];
      if (packed) this.addPacked(dimension as Dimension, packed);
    }
  }

  /** Adds counts of a dimension as they are stored. */
  addPacked(dimension: Dimension, packed: PackedCounts): void {
    // Parsed JSON has no inherited keys, and lists of its keys and values would cost more than the sums.
    for (const value in packed) {
      const sums = this.sumsOf(dimension, value);
      const counters = packed[value] as PackedCounts[string];
      for (const counter in counters) sums.add(counter, counters[counter] as number);
    }
  }

  add(other: CountBucket): void {
    for (const dimension of ALL_DIMENSIONS) {
      const values = other.#dimensions[dimension];
      if (!values) continue;
      this.sumsOf(dimension, values.value).addAll(values.sums);
      for (const [value, sums] of values.others ?? []) this.sumsOf(dimension, value).addAll(sums);
    }
  }
}

/** As parsed from JSON: counts by value and counter. */
export type PackedCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

export type StoredCounts = Readonly<Partial<Record<Dimension, PackedCounts | null>>>;

function byScope(a: CountBucket, b: CountBucket): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.mode === b.mode ? a.atMs - b.atMs : a.mode < b.mode ? -1 : 1;
}
