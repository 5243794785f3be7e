import type { Pool } from '../db/connections/pool.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { ReceivingDomain } from './domain.ts';
import { findReceivingDomain } from './receiving-domain-store.ts';

/**
 * Answers for every recipient of incoming mail which workspace receives for the domain. Anyone can
 * ask for any name, so unknown names have a bound of their own and never evict known ones. A change
 * of a workspace's domains invalidates its entries and all unknown names, since one of them may be
 * new.
 */

const KNOWN_MAX = 20_000;
const UNKNOWN_MAX = 5_000;

export class ReceivingDomainCache {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #maxAgeMs: () => number;
  /** By name, oldest first. */
  readonly #known = new Map<string, { domain: ReceivingDomain; readAtMs: number }>();
  readonly #unknown = new Map<string, { readAtMs: number }>();
  /** Concurrent callers share a read, but none that started before an invalidation. */
  readonly #reading = new Map<string, Promise<ReceivingDomain | undefined>>();

  constructor(parts: { pool: Pool; clock: Clock; maxAgeMs: () => number }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#maxAgeMs = parts.maxAgeMs;
  }

  /** `name` in A-labels and lower case. */
  async find(name: string): Promise<ReceivingDomain | undefined> {
    const nowMs = this.#clock.now();
    const isFresh = (entry: { readAtMs: number } | undefined): boolean =>
      entry !== undefined && nowMs - entry.readAtMs < this.#maxAgeMs();
    const known = this.#known.get(name);
    if (known && isFresh(known)) return known.domain;
    if (isFresh(this.#unknown.get(name))) return undefined;
    return this.#reading.get(name) ?? this.#read(name, nowMs);
  }

  /** Called when a domain of the workspace has changed. */
  invalidateWorkspace(workspaceId: string): void {
    for (const [name, { domain }] of this.#known) {
      if (domain.workspaceId === workspaceId) this.#known.delete(name);
    }
    this.#unknown.clear();
    this.#reading.clear();
  }

  invalidateAll(): void {
    this.#known.clear();
    this.#unknown.clear();
    this.#reading.clear();
  }

  async #read(name: string, readAtMs: number): Promise<ReceivingDomain | undefined> {
    const reading = findReceivingDomain(this.#pool, name);
    this.#reading.set(name, reading);
    try {
      const domain = await reading;
      if (this.#reading.get(name) === reading) this.#keep(name, domain, readAtMs);
      return domain;
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    }
  }

  #keep(name: string, domain: ReceivingDomain | undefined, readAtMs: number): void {
    this.#known.delete(name);
    this.#unknown.delete(name);
    if (domain) keepNewest(this.#known, KNOWN_MAX, name, { domain, readAtMs });
    else keepNewest(this.#unknown, UNKNOWN_MAX, name, { readAtMs });
  }
}

function keepNewest<V>(entries: Map<string, V>, entriesMax: number, name: string, entry: V): void {
  entries.set(name, entry);
  if (entries.size <= entriesMax) return;
  for (const [oldest] of entries) {
    entries.delete(oldest);
    return;
  }
}
