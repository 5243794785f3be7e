/**
 * Lets callers that wait at the same moment share one commit. Items queue up while earlier groups
 * are being written; whenever a writer is free it takes all that waits, up to a count and a size.
 * Each caller is answered after the commit that holds its own item. Memory is bounded: when too much
 * waits, add() refuses at once instead of queueing.
 */

export interface GroupCommitOptions<Item, Result> {
  /** Writes the items in one commit; results come back in the same order. */
  commit: (items: Item[]) => Promise<Result[]>;
  /** Whether an error is one item's fault, so that its neighbours deserve another try, one by one. */
  isItemError: (error: unknown) => boolean;
  groupItemsMax: number;
  groupBytesMax: number;
  groupsInFlightMax: number;
  /**
   * A group begins no sooner than this after the one before it: where nobody waits for the answer,
   * what comes meanwhile shares its commit. The first after a rest begins at once.
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

/** Two of them at a time are worth more than one twice as large. */
const SMALL_GROUP = 8;

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #waitingBytes = 0;
  /** The sizes of the groups under way. */
  readonly #inFlight: number[] = [];
  /** How many of those answered last have not been followed by another: they may be back soon. */
  #expectedBack = 0;
  #startScheduled = false;
  #spacing: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
  }

  /** Resolves once the item's own group is committed. Throws GroupCommitFullError at once when full. */
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
      // Requests read in the same turn of the event loop end up in the same group.
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

  /** Resolves when nothing waits and nothing is being written. */
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
   * A commit costs as much as some thirty of its items, so who finds a group under way waits for its
   * end. Only small groups do not pay for the wait; and when two full ones are waiting, the one under
   * way is stuck, or there is work for two writers anyway.
   */
  #canStart(): boolean {
    const { groupsInFlightMax, groupItemsMax } = this.#options;
    if (this.#waiting.length === 0 || this.#spacing !== undefined) return false;
    if (this.#inFlight.length === 0) return true;
    if (this.#inFlight.length >= groupsInFlightMax) return false;
    const company = Math.min(groupItemsMax, ...this.#inFlight);
    return this.#waiting.length >= (company < SMALL_GROUP ? company : 2 * groupItemsMax);
  }

  #beginSpacing(): void {
    const { spacingMs } = this.#options;
    // Who waits for the end of all gets it without pauses.
    if (spacingMs === undefined || this.#idle.length > 0) return;
    this.#spacing = setTimeout(() => this.#endSpacing(), spacingMs);
  }

  #endSpacing(): void {
    clearTimeout(this.#spacing);
    this.#spacing = undefined;
    this.#startGroups();
  }

  /**
   * At most half of all that are here: those who wait, and those just answered, who will be back.
   * Then one half is written while the other is read. Were a group to take all, everybody would soon
   * be in the same one, and reading and writing would wait for each other.
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
