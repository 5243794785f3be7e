/**
 * Who has how many of the places that there are. Work that waits for strangers may hold its place for
 * minutes, so nobody may have them all: a holder gets another place only while he has less than three
 * times of what is free. One alone can have three quarters, two can have three sevenths each, and
 * whoever comes next always finds some.
 */
export class FairShares {
  readonly #slots: number;
  readonly #inUse = new Map<string, number>();
  #totalInUse = 0;

  constructor(placesMax: number) {
    this.#slots = placesMax;
  }

  canAcquire(holder: string): boolean {
    const own = this.#inUse.get(holder) ?? 0;
    return own < SHARE_OF_FREE_SLOTS * (this.#slots - this.#totalInUse);
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

const SHARE_OF_FREE_SLOTS = 3;
