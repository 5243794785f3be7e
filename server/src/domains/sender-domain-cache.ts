import type { Pool } from '../db/pool.ts';
import { Believed } from '../lib/believed.ts';
import type { Clock } from '../lib/clock.ts';
import { findSenderDomain } from './domain-store.ts';
import type { SenderDomain } from './sender-domains.ts';

const ENTRIES_MAX = 20_000;

/** What every send asks: is this domain ours, and may it send? */
export class SenderDomainCache {
  readonly #pool: Pool;
  readonly #cache: Believed<SenderDomain | undefined>;

  constructor(parts: { pool: Pool; clock: Clock; noticesArrive: () => boolean }) {
    this.#pool = parts.pool;
    this.#cache = new Believed({ ...parts, entriesMax: ENTRIES_MAX });
  }

  /** At once when it is known. */
  find(
    workspaceId: string,
    name: string,
  ): SenderDomain | undefined | Promise<SenderDomain | undefined> {
    return this.#cache.get(workspaceId, name, () =>
      findSenderDomain(this.#pool, workspaceId, name),
    );
  }

  /** Some domain of this workspace changed. */
  forgetWorkspace(workspaceId: string): void {
    this.#cache.forget(workspaceId);
  }

  forgetAll(): void {
    this.#cache.forgetAll();
  }
}
