import type { Pool } from '../db/connections/pool.ts';
import { NotifyCache } from '../lib/notify-cache.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { SenderDomain } from './domain.ts';
import { findSenderDomain } from './domain-store.ts';

const ENTRIES_MAX = 20_000;

/** Answers for every send whether the workspace has a domain and may send from it. */
export class SenderDomainCache {
  readonly #pool: Pool;
  readonly #cache: NotifyCache<SenderDomain | undefined>;

  constructor(parts: { pool: Pool; clock: Clock; maxAgeMs: () => number }) {
    this.#pool = parts.pool;
    this.#cache = new NotifyCache({ ...parts, entriesMax: ENTRIES_MAX });
  }

  /** Synchronous when the domain is cached. */
  find(
    workspaceId: string,
    name: string,
  ): SenderDomain | undefined | Promise<SenderDomain | undefined> {
    return this.#cache.get(workspaceId, name, () =>
      findSenderDomain(this.#pool, workspaceId, name),
    );
  }

  /** Called when a domain of the workspace has changed. */
  invalidateWorkspace(workspaceId: string): void {
    this.#cache.invalidate(workspaceId);
  }

  invalidateAll(): void {
    this.#cache.invalidateAll();
  }
}
