import type { Clock } from '../base/clock.ts';
import type { Pool } from '../storage/pool.ts';
import { findSenderDomain } from './domain-store.ts';
import type { SenderDomain } from './sender-domains.ts';

/**
 * What every send asks: is this domain ours, and may it send? Answers are remembered until a notice
 * says that the workspace's domains changed; while notices may be lost they are believed for a
 * second only.
 */

const KNOWN_MAX = 20_000;
const BELIEVED_MS = 60_000;
const BELIEVED_WITHOUT_NOTICES_MS = 1_000;

interface Known {
  domain: SenderDomain | undefined;
  readAtMs: number;
}

export class DomainDirectory {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #noticesArrive: () => boolean;
  readonly #known = new Map<string, Known>();
  #generation = 0;

  constructor(parts: { pool: Pool; clock: Clock; noticesArrive: () => boolean }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#noticesArrive = parts.noticesArrive;
  }

  async find(workspaceId: string, name: string): Promise<SenderDomain | undefined> {
    const key = `${workspaceId}/${name}`;
    const known = this.#known.get(key);
    const believedMs = this.#noticesArrive() ? BELIEVED_MS : BELIEVED_WITHOUT_NOTICES_MS;
    const nowMs = this.#clock.now();
    if (known && nowMs - known.readAtMs < believedMs) return known.domain;
    const generation = this.#generation;
    const domain = await findSenderDomain(this.#pool, workspaceId, name);
    // A change told while we read may be newer than what we read.
    if (generation === this.#generation) {
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.set(key, { domain, readAtMs: nowMs });
    }
    return domain;
  }

  /** Some domain of this workspace changed. */
  forgetWorkspace(workspaceId: string): void {
    this.#generation += 1;
    for (const key of this.#known.keys()) {
      if (key.startsWith(`${workspaceId}/`)) this.#known.delete(key);
    }
  }

  forgetAll(): void {
    this.#generation += 1;
    this.#known.clear();
  }
}
