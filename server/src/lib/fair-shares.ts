/**
 * Who has how many of the places that there are. Work that waits for strangers may hold its place for
 * minutes, so nobody may have them all: a holder gets another place only while he has less than three
 * times of what is free. One alone can have three quarters, two can have three sevenths each, and
 * whoever comes next always finds some.
 */
export class FairShares {
  readonly #placesMax: number;
  readonly #inUse = new Map<string, number>();
  #inUseOfAll = 0;

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
  }

  mayEnter(holder: string): boolean {
    const own = this.#inUse.get(holder) ?? 0;
    return own < TIMES_OF_FREE * (this.#placesMax - this.#inUseOfAll);
  }

  entered(holder: string): void {
    this.#inUseOfAll += 1;
    this.#inUse.set(holder, (this.#inUse.get(holder) ?? 0) + 1);
  }

  left(holder: string): void {
    this.#inUseOfAll -= 1;
    const own = (this.#inUse.get(holder) ?? 1) - 1;
    if (own === 0) this.#inUse.delete(holder);
    else this.#inUse.set(holder, own);
  }
}

const TIMES_OF_FREE = 3;
