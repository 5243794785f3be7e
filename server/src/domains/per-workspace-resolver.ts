import { FairQueue } from '../lib/scheduling/fair-queue.ts';
import type { Resolver } from '../mail/dns/resolver.ts';

/**
 * Shares one DNS resolver fairly between workspaces. Tenants choose the names to look up, and with
 * them name servers that may be slow or silent: a workspace with a thousand such lookups waits in a
 * queue of its own, and the others are not delayed.
 */
export class PerWorkspaceResolver {
  readonly #resolver: Resolver;
  readonly #queue: FairQueue;

  constructor(resolver: Resolver, concurrencyMax: number) {
    this.#resolver = resolver;
    this.#queue = new FairQueue(concurrencyMax);
  }

  /** The resolver with one workspace's share of the concurrency. */
  forWorkspace(workspaceId: string): Resolver {
    return {
      lookup: (type, name, options) =>
        this.#queue.run(workspaceId, () => this.#resolver.lookup(type, name, options)),
    };
  }
}
