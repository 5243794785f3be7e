import type { Clock } from '../lib/clock.ts';
import type { IpRanges } from '../lib/net/ip-ranges.ts';
import type { ApiKey } from './api-key-store.ts';
import type { Caller } from './caller.ts';

export interface CachedKey {
  caller: Caller;
  key: ApiKey;
  secretEndsAtMs: number | null;
  /** For an SES credential. */
  signing: SigningCredential | undefined;
  /** Undefined: the key can be used from anywhere. */
  networks: IpRanges | undefined;
}

/** A key that signs requests, found by the public part of its SES credential. */
export interface SigningCredential {
  secret: string;
  /** Call it when the signature is right. Throws like `Authenticator.authenticate`. */
  authorize(ip: string): Caller;
}

const CACHE_MAX = 20_000;
const CACHE_TTL_MS = 60_000;
const CACHE_TTL_NOT_LISTENING_MS = 1_000;

/**
 * API keys by what was presented, a token or an access key ID, so that a request costs neither a hash
 * nor a query. lib/notify-cache.ts does not fit, because the workspace of a key is not known before it
 * is read. Changes on other nodes arrive as notifications; while notifications may be lost, entries
 * expire after a second.
 */
export class ApiKeyCache {
  readonly #clock: Clock;
  readonly #isListening: () => boolean;
  readonly #entries = new Map<string, { cached: CachedKey; readAtMs: number }>();
  readonly #reading = new Map<string, Promise<CachedKey | undefined>>();
  #generation = 0;

  constructor(parts: { clock: Clock; isListening: () => boolean }) {
    this.#clock = parts.clock;
    this.#isListening = parts.isListening;
  }

  get(presented: string): CachedKey | undefined {
    const entry = this.#entries.get(presented);
    if (!entry) return undefined;
    const age = this.#clock.now() - entry.readAtMs;
    const ttlMs = this.#isListening() ? CACHE_TTL_MS : CACHE_TTL_NOT_LISTENING_MS;
    return age < ttlMs ? entry.cached : undefined;
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
    for (const [presented, { cached }] of this.#entries) {
      if (cached.key.workspaceId === workspaceId) this.#entries.delete(presented);
    }
    // A read in progress may have started before the change, so later requests must not share it.
    this.#reading.clear();
  }

  /** Notifications were lost, so every entry may be stale. */
  invalidateAll(): void {
    this.#generation += 1;
    this.#entries.clear();
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
    if (cached && generation === this.#generation) {
      if (this.#entries.size >= CACHE_MAX) this.#entries.clear();
      this.#entries.set(presented, { cached, readAtMs });
    }
    return cached;
  }
}
