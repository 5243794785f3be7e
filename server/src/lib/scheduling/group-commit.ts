/**
 * Combines concurrent writes into one commit. Items queue while earlier groups are written, and a free
 * writer takes the waiting items up to a count and a size. Every caller is answered after the commit
 * of its own item. Memory is bounded: add() throws immediately if too much is waiting.
 */

export interface GroupCommitOptions<Item, Result> {
  /** Writes the items in one commit; returns results in the same order. */
  commit: (items: Item[]) => Promise<Result[]>;
  /** Whether an error was caused by a single item; the items are then retried one by one. */
  isItemError: (error: unknown) => boolean;
  groupItemsMax: number;
  groupBytesMax: number;
  groupsInFlightMax: number;
  /**
   * The minimum time between the starts of two groups, for writes whose result no caller waits for:
   * items that arrive meanwhile share a commit. The first group after a pause starts immediately.
   */
  spacingMs?: number;
  waitingItemsMax: number;
  waitingBytesMax: number;
}

export class GroupCommitFullError extends Error {
  override name = 'GroupCommitFullError';
}

interface Waiting<Item, Result> {
  item: Item;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Two groups of this size in parallel are faster than one of twice the size. */
const SMALL_GROUP = 8;

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #waitingBytes = 0;
  /** The sizes of the groups in flight. */
  readonly #inFlight: number[] = [];
  /** Callers of the last group that have not added another item yet, and probably will soon. */
  #expectedBack = 0;
  #startScheduled = false;
  #spacing: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
  }

  /** Resolves when the group of the item is committed. Throws GroupCommitFullError if full. */
  add(item: Item, bytes: number): Promise<Result> {
    const { waitingItemsMax, waitingBytesMax } = this.#options;
    const overBytes = this.#waiting.length > 0 && this.#waitingBytes + bytes > waitingBytesMax;
    if (this.#waiting.length >= waitingItemsMax || overBytes) {
      throw new GroupCommitFullError('Too many commits are waiting');
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, bytes, resolve, reject });
      this.#waitingBytes += bytes;
      if (this.#expectedBack > 0) this.#expectedBack -= 1;
      // Requests of the same event loop turn share a group.
      if (this.#startScheduled) return;
      this.#startScheduled = true;
      setImmediate(() => {
        this.#startScheduled = false;
        this.#startGroups();
      });
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Resolves when nothing is waiting or in flight. */
  drained(): Promise<void> {
    if (this.#inFlight.length === 0 && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#endSpacing();
    });
  }

  #startGroups(): void {
    while (this.#canStart()) {
      const group = this.#takeGroup();
      this.#inFlight.push(group.length);
      this.#beginSpacing();
      void this.#write(group).finally(() => {
        this.#inFlight.splice(this.#inFlight.indexOf(group.length), 1);
        this.#startGroups();
        if (this.#inFlight.length === 0 && this.#waiting.length === 0) {
          for (const done of this.#idle.splice(0)) done();
        }
      });
    }
  }

  /**
   * A commit costs as much as about thirty items, so items usually wait for the group in flight. The
   * exceptions are small groups, which are not worth the wait, and two full groups of waiting items,
   * which mean that the group in flight is stuck or that there is work for two writers.
   */
  #canStart(): boolean {
    const { groupsInFlightMax, groupItemsMax } = this.#options;
    if (this.#waiting.length === 0 || this.#spacing !== undefined) return false;
    if (this.#inFlight.length === 0) return true;
    if (this.#inFlight.length >= groupsInFlightMax) return false;
    const smallest = Math.min(groupItemsMax, ...this.#inFlight);
    return this.#waiting.length >= (smallest < SMALL_GROUP ? smallest : 2 * groupItemsMax);
  }

  #beginSpacing(): void {
    const { spacingMs } = this.#options;
    // drained() does not wait for the spacing.
    if (spacingMs === undefined || this.#idle.length > 0) return;
    this.#spacing = setTimeout(() => this.#endSpacing(), spacingMs);
  }

  #endSpacing(): void {
    clearTimeout(this.#spacing);
    this.#spacing = undefined;
    this.#startGroups();
  }

  /**
   * Takes at most half of the active callers: those waiting, and those just answered, which will be
   * back. One half is then written while the requests of the other half are read. If a group took all,
   * every caller would soon be in the same group, and reading and writing would alternate.
   */
  #takeGroup(): Waiting<Item, Result>[] {
    const { groupItemsMax, groupBytesMax } = this.#options;
    const countMax = Math.min(this.#targetGroupSize(), groupItemsMax);
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      if (count === countMax || (count > 0 && bytes + waiting.bytes > groupBytesMax)) break;
      bytes += waiting.bytes;
      count += 1;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  #targetGroupSize(): number {
    const { length } = this.#waiting;
    const takesAll = length <= SMALL_GROUP || this.#options.spacingMs !== undefined;
    return takesAll ? length : Math.ceil((length + this.#expectedBack) / 2);
  }

  async #write(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.commit(group.map((waiting) => waiting.item));
      this.#expectedBack = group.length;
      group.forEach((waiting, index) => {
        waiting.resolve(results[index] as Result);
      });
    } catch (error) {
      if (group.length > 1 && this.#options.isItemError(error)) {
        for (const waiting of group) await this.#write([waiting]);
      } else {
        for (const waiting of group) waiting.reject(error);
      }
    }
  }
}
