import type { Pool } from '../db/pool.ts';
import { Believed } from '../lib/believed.ts';
import type { Clock } from '../lib/clock.ts';
import { findSenderDomain } from './domain-store.ts';
import type { SenderDomain } from './sender-domains.ts';

const KNOWN_MAX = 20_000;

/** What every send asks: is this domain ours, and may it send? */
export class DomainDirectory {
  readonly #pool: Pool;
  readonly #known: Believed<SenderDomain | undefined>;

  constructor(parts: { pool: Pool; clock: Clock; noticesArrive: () => boolean }) {
    this.#pool = parts.pool;
    this.#known = new Believed({ ...parts, entriesMax: KNOWN_MAX });
  }

  /** At once when it is known. */
  find(
    workspaceId: string,
    name: string,
  ): SenderDomain | undefined | Promise<SenderDomain | undefined> {
    return this.#known.get(workspaceId, name, () =>
      findSenderDomain(this.#pool, workspaceId, name),
    );
  }

  /** Some domain of this workspace changed. */
  forgetWorkspace(workspaceId: string): void {
    this.#known.forget(workspaceId);
  }

  forgetAll(): void {
    this.#known.forgetAll();
  }
}
