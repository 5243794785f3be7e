import type { Pool } from '../db/connections/pool.ts';
import { NotifyCache } from '../lib/notify-cache.ts';
import { type Clock, pause } from '../lib/time/clock.ts';
import { isSuspended } from './workspace-store.ts';

/** While the database is slow or unavailable, callers get an answer after this time. */
const WAIT_MAX_MS = 1_000;

/** Whether a workspace is suspended, for callers that know nothing else about it. */
export class SuspensionCache {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #cache: NotifyCache<boolean>;

  constructor(parts: { pool: Pool; clock: Clock; maxAgeMs: () => number }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#cache = new NotifyCache({ ...parts, entriesMax: 20_000 });
  }

  /** False when the database does not answer. Concurrent callers share one query per workspace. */
  isSuspended(workspaceId: string): boolean | Promise<boolean> {
    const found = this.#cache.get(workspaceId, '', () => isSuspended(this.#pool, workspaceId));
    if (typeof found === 'boolean') return found;
    const waited = pause(this.#clock, WAIT_MAX_MS).then(() => false);
    return Promise.race([found.catch(() => false), waited]);
  }

  invalidateWorkspace(workspaceId: string): void {
    this.#cache.invalidate(workspaceId);
  }

  invalidateAll(): void {
    this.#cache.invalidateAll();
  }
}
