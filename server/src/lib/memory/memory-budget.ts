/**
 * Limits the bytes that all senders together have in memory: request bodies, or mail in reception.
 * Bytes are counted when they arrive, because a client may announce more than it sends. Each owner (a
 * workspace, or an anonymous client) may hold at most as much as it leaves free: one owner alone gets
 * half, two get a third each, and a new owner always finds space.
 */
export class MemoryBudget {
  readonly #max: number;
  readonly #usedByOwner = new Map<string, number>();
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** Starts a reservation for one item: a message or a request body. */
  reserve(owner: string): MemoryReservation {
    let mine = 0;
    return {
      tryGrow: (bytes) => {
        if (!this.#canGrow(owner, mine, bytes)) return false;
        mine += bytes;
        this.#add(owner, bytes);
        return true;
      },
      release: () => {
        this.#add(owner, -mine);
        mine = 0;
      },
    };
  }

  /**
   * An item that is alone may use the whole budget, so that every item within the size limit can be
   * received.
   */
  #canGrow(owner: string, mine: number, bytes: number): boolean {
    const total = this.#used + bytes;
    if (total > this.#max) return false;
    if (this.#used === mine) return true;
    const isSmall = mine + bytes <= SMALL_ITEM_BYTES;
    if (!isSmall && total > this.#max * LARGE_ITEMS_SHARE) return false;
    const owned = this.#usedByOwner.get(owner) ?? 0;
    return owned === mine || owned + bytes <= this.#max - total;
  }

  #add(owner: string, bytes: number): void {
    this.#used += bytes;
    const owned = (this.#usedByOwner.get(owner) ?? 0) + bytes;
    if (owned === 0) this.#usedByOwner.delete(owner);
    else this.#usedByOwner.set(owner, owned);
  }
}

export interface MemoryReservation {
  /** False, with nothing reserved, when the budget is exhausted. */
  tryGrow(bytes: number): boolean;
  release(): void;
}

/** Most messages and requests are not larger. */
const SMALL_ITEM_BYTES = 256 * 1024;
/** Share of the budget for larger items; the rest is reserved for small ones. */
const LARGE_ITEMS_SHARE = 3 / 4;
