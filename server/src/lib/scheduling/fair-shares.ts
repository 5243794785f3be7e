/**
 * Divides a fixed number of slots between holders. A slot may be held for minutes while waiting for a
 * remote server, so no holder may take them all: a holder gets another slot only while it has fewer
 * than three times the free slots. One holder alone gets three quarters, two get three sevenths each,
 * and a new holder always finds free slots.
 */
export class FairShares {
  readonly #slots: number;
  readonly #inUse = new Map<string, number>();
  #totalInUse = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  canAcquire(holder: string): boolean {
    return fairShare(this.#inUse.get(holder) ?? 0, this.#slots - this.#totalInUse) > 0;
  }

  acquire(holder: string): void {
    this.#totalInUse += 1;
    this.#inUse.set(holder, (this.#inUse.get(holder) ?? 0) + 1);
  }

  release(holder: string): void {
    this.#totalInUse -= 1;
    const own = (this.#inUse.get(holder) ?? 1) - 1;
    if (own === 0) this.#inUse.delete(holder);
    else this.#inUse.set(holder, own);
  }
}

/** How many of the free slots a holder may take that already has some. */
export function fairShare(own: number, free: number): number {
  return Math.max(0, Math.ceil((SHARE_OF_FREE_SLOTS * free - own) / (SHARE_OF_FREE_SLOTS + 1)));
}

const SHARE_OF_FREE_SLOTS = 3;
