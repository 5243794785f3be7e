import { FairShares } from '../lib/fair-shares.ts';
import type { Resolver } from '../mail/dns/resolver.ts';

/**
 * Shares one DNS resolver fairly between workspaces. Tenants choose the names to look up, and with
 * them name servers that may be slow or silent: a workspace with a thousand such lookups waits in a
 * queue of its own, and the others are not delayed.
 */
export class PerWorkspaceResolver {
  readonly #resolver: Resolver;
  readonly #shares: FairShares;
  /**
   * Queued lookups by workspace, in the order of service: a workspace that was served moves to the
   * end.
   */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(resolver: Resolver, concurrencyMax: number) {
    this.#resolver = resolver;
    this.#shares = new FairShares(concurrencyMax);
  }

  /** The resolver with one workspace's share of the concurrency. */
  forWorkspace(workspaceId: string): Resolver {
    return {
      lookup: async (type, name, options) => {
        await this.#acquire(workspaceId);
        try {
          return await this.#resolver.lookup(type, name, options);
        } finally {
          this.#release(workspaceId);
        }
      },
    };
  }

  async #acquire(workspaceId: string): Promise<void> {
    const line = this.#waiting.get(workspaceId);
    if (line === undefined && this.#shares.canAcquire(workspaceId)) {
      this.#shares.acquire(workspaceId);
      return;
    }
    await new Promise<void>((go) => {
      if (line) line.push(go);
      else this.#waiting.set(workspaceId, [go]);
    });
  }

  #release(workspaceId: string): void {
    this.#shares.release(workspaceId);
    while (this.#admitNext());
  }

  #admitNext(): boolean {
    for (const [workspaceId, line] of this.#waiting) {
      if (!this.#shares.canAcquire(workspaceId)) continue;
      this.#shares.acquire(workspaceId);
      line.shift()?.();
      this.#waiting.delete(workspaceId);
      if (line.length > 0) this.#waiting.set(workspaceId, line);
      return true;
    }
    return false;
  }
}
