import { FairShares } from '../lib/fair-shares.ts';
import type { Resolver } from '../mail/dns/resolver.ts';

/**
 * Questions of all workspaces to one resolver. Tenants choose the names, and with them the servers
 * that answer late or never: whoever asks for a thousand silent names waits for them in a line of his
 * own, and the others find places.
 */
export class PerWorkspaceResolver {
  readonly #resolver: Resolver;
  readonly #shares: FairShares;
  /** Those that wait, by workspace; whoever was let in last is asked last. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(resolver: Resolver, concurrencyMax: number) {
    this.#resolver = resolver;
    this.#shares = new FairShares(concurrencyMax);
  }

  /** The resolver as one workspace may use it. */
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
    if (line === undefined && this.#shares.mayEnter(workspaceId)) {
      this.#shares.entered(workspaceId);
      return;
    }
    await new Promise<void>((go) => {
      if (line) line.push(go);
      else this.#waiting.set(workspaceId, [go]);
    });
  }

  #release(workspaceId: string): void {
    this.#shares.left(workspaceId);
    while (this.#admitNext());
  }

  #admitNext(): boolean {
    for (const [workspaceId, line] of this.#waiting) {
      if (!this.#shares.mayEnter(workspaceId)) continue;
      this.#shares.entered(workspaceId);
      line.shift()?.();
      this.#waiting.delete(workspaceId);
      if (line.length > 0) this.#waiting.set(workspaceId, line);
      return true;
    }
    return false;
  }
}
