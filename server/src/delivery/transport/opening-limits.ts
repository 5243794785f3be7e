import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';

/**
 * Limits the attempts that wait for a connection, until it is greeted and encrypted. A silent server
 * may hold such an attempt for minutes, and anyone can point a thousand domains at one silent
 * address. So an address gets few at a time, whatever its domains, and a workspace gets a part of
 * the transactions that may be in flight: the rest is for mail that moves.
 */
export class OpeningLimits {
  readonly #perWorkspace: number;
  readonly #onCapacity: () => void;
  readonly #limits = new Map<string, ConcurrencyLimit>();

  constructor(perWorkspace: number, onCapacity: () => void) {
    this.#perWorkspace = perWorkspace;
    this.#onCapacity = onCapacity;
  }

  /** The limit that must have capacity first; undefined when the attempt may begin. */
  exhausted(workspaceId: string, address: string | undefined): ConcurrencyLimit | undefined {
    const keys = keysOf(workspaceId, address);
    const limits = keys.map((key) => this.#limits.get(key));
    return limits.find((limit) => limit && !limit.hasCapacity);
  }

  /** Undefined when a limit is exhausted. */
  acquire(workspaceId: string, address: string | undefined): Opening | undefined {
    if (this.exhausted(workspaceId, address)) return undefined;
    const keys = keysOf(workspaceId, address);
    for (const key of keys) this.#limitOf(key).acquire();
    let isOpen = false;
    return {
      finish: () => {
        if (isOpen) return;
        isOpen = true;
        for (const key of keys) this.#release(key);
        this.#onCapacity();
      },
    };
  }

  #limitOf(key: string): ConcurrencyLimit {
    let limit = this.#limits.get(key);
    if (!limit) {
      limit = new ConcurrencyLimit(
        key.startsWith(ADDRESS) ? OPENINGS_PER_ADDRESS_MAX : this.#perWorkspace,
      );
      this.#limits.set(key, limit);
    }
    return limit;
  }

  #release(key: string): void {
    const limit = this.#limits.get(key);
    limit?.release();
    if (limit?.isUnused) this.#limits.delete(key);
  }
}

/** The places of one attempt; `finish` may be called more than once. */
export interface Opening {
  finish(): void;
}

/** For attempts that need no place. */
export const NO_OPENING: Opening = { finish: () => {} };

const OPENINGS_PER_ADDRESS_MAX = 4;
const ADDRESS = 'address ';

function keysOf(workspaceId: string, address: string | undefined): string[] {
  return address === undefined ? [workspaceId] : [`${ADDRESS}${address}`, workspaceId];
}
