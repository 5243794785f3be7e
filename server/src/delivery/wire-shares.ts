/**
 * Whose transactions are on the wire. One that meets a silent server holds its place for minutes, so
 * nobody may have them all: a workspace gets another place only while it has less than three times of
 * what is free. One alone can have three quarters of the wire, two can have three sevenths each, and
 * whoever comes next always finds some.
 */
export class WireShares {
  readonly #placesMax: number;
  readonly #inUse = new Map<string, number>();
  #inUseOfAll = 0;

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
  }

  mayEnter(workspaceId: string): boolean {
    const own = this.#inUse.get(workspaceId) ?? 0;
    return own < TIMES_OF_FREE * (this.#placesMax - this.#inUseOfAll);
  }

  entered(workspaceId: string): void {
    this.#inUseOfAll += 1;
    this.#inUse.set(workspaceId, (this.#inUse.get(workspaceId) ?? 0) + 1);
  }

  left(workspaceId: string): void {
    this.#inUseOfAll -= 1;
    const own = (this.#inUse.get(workspaceId) ?? 1) - 1;
    if (own === 0) this.#inUse.delete(workspaceId);
    else this.#inUse.set(workspaceId, own);
  }
}

const TIMES_OF_FREE = 3;
