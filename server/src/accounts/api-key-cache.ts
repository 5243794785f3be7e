import type { IpRanges } from '../lib/net/ip-ranges.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { Caller } from './caller.ts';

/** What authentication needs of a key, and no more, because thousands are in memory. */
export interface CachedKey {
  caller: Caller & { keyId: string };
  revokedAtMs: number | null;
  expiresAtMs: number | null;
  secretEndsAtMs: number | null;
  /** For an SES credential. */
  signing: SigningCredential | undefined;
  /** Undefined: the key can be used from anywhere. */
  networks: IpRanges | undefined;
  /** When it was used; null if it was not since last-used times were written. */
  usedAtMs: number | null;
}

/** A key that signs requests, found by the public part of its SES credential. */
export interface SigningCredential {
  secret: string;
  /** Call it when the signature is right. Throws like `Authenticator.authenticate`. */
  authorize(ip: string): Caller;
}

const CACHE_MAX = 20_000;

/**
 * API keys by what was presented, a token or an access key ID, so that a request costs neither a hash
 * nor a query. lib/notify-cache.ts does not fit, because the workspace of a key is not known before it
 * is read. Changes on other nodes arrive as notifications.
 */
export class ApiKeyCache {
  readonly #clock: Clock;
  readonly #maxAgeMs: () => number;
  /** Oldest first. */
  readonly #entries = new Map<string, { cached: CachedKey; readAtMs: number }>();
  /** What was presented, by workspace. */
  readonly #byWorkspace = new Map<string, Set<string>>();
  readonly #reading = new Map<string, Promise<CachedKey | undefined>>();
  #generation = 0;

  constructor(parts: { clock: Clock; maxAgeMs: () => number }) {
    this.#clock = parts.clock;
    this.#maxAgeMs = parts.maxAgeMs;
  }

  get(presented: string): CachedKey | undefined {
    const entry = this.#entries.get(presented);
    if (!entry) return undefined;
    const age = this.#clock.now() - entry.readAtMs;
    return age < this.#maxAgeMs() ? entry.cached : undefined;
  }

  /** Concurrent requests with the same key share a read. A key that does not exist is not cached. */
  read(
    presented: string,
    find: () => Promise<CachedKey | undefined>,
  ): Promise<CachedKey | undefined> {
    const running = this.#reading.get(presented);
    if (running) return running;
    const reading = this.#readAndStore(presented, find).finally(() => {
      if (this.#reading.get(presented) === reading) this.#reading.delete(presented);
    });
    this.#reading.set(presented, reading);
    return reading;
  }

  /** A key of the workspace was changed, on this node or another. */
  invalidateWorkspace(workspaceId: string): void {
    this.#generation += 1;
    for (const presented of this.#byWorkspace.get(workspaceId) ?? []) {
      this.#entries.delete(presented);
    }
    this.#byWorkspace.delete(workspaceId);
    // A read in progress may have started before the change, so later requests must not share it.
    this.#reading.clear();
  }

  /** Notifications were lost, so every entry may be stale. */
  invalidateAll(): void {
    this.#generation += 1;
    this.#entries.clear();
    this.#byWorkspace.clear();
    this.#reading.clear();
  }

  async #readAndStore(
    presented: string,
    find: () => Promise<CachedKey | undefined>,
  ): Promise<CachedKey | undefined> {
    const generation = this.#generation;
    const readAtMs = this.#clock.now();
    const cached = await find();
    // A change that was announced during the read may be newer than what was read.
    if (cached && generation === this.#generation) this.#store(presented, cached, readAtMs);
    return cached;
  }

  #store(presented: string, cached: CachedKey, readAtMs: number): void {
    this.#evict(presented);
    if (this.#entries.size >= CACHE_MAX) this.#evict(this.#entries.keys().next().value as string);
    this.#entries.set(presented, { cached, readAtMs });
    const { workspaceId } = cached.caller;
    const ofWorkspace = this.#byWorkspace.get(workspaceId);
    if (ofWorkspace) ofWorkspace.add(presented);
    else this.#byWorkspace.set(workspaceId, new Set([presented]));
  }

  #evict(presented: string): void {
    const workspaceId = this.#entries.get(presented)?.cached.caller.workspaceId;
    if (workspaceId === undefined) return;
    this.#entries.delete(presented);
    const ofWorkspace = this.#byWorkspace.get(workspaceId);
    ofWorkspace?.delete(presented);
    if (ofWorkspace?.size === 0) this.#byWorkspace.delete(workspaceId);
  }
}
