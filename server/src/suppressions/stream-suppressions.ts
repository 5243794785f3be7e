import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool, Queryable } from '../db/connections/pool.ts';
import { LAST_UUID, uuidFloor } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { AddressHash } from './erased-address.ts';
import {
  appendSuppressionEvents,
  deleteEntries,
  isUnsubscribe,
  newEntry,
} from './suppression-entry.ts';
import {
  EVERYWHERE,
  findStreamSuppressions,
  insertSuppressions,
  listSuppressions,
  lockSuppressions,
  makePermanent,
  type Suppression,
} from './suppression-store.ts';

/**
 * Who has left which stream. The suppression list is the only record of it: leaving a stream adds an
 * entry, coming back removes it.
 */

/** A suppression of one address in one stream. */
export interface StreamEntry {
  entry: Suppression;
  /** The address, also if the entry contains only its hash. */
  emailKey: string;
  /** Whether the recipient left the stream, and can come back. */
  isUnsubscribe: boolean;
}

/** More than an address can have: one for each stream, by name and by hash. */
const STATES_READ_MAX = 1_000;

export class StreamSuppressions {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #hash: AddressHash;

  constructor(parts: { pool: Pool; clock: Clock; hash: AddressHash }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#hash = parts.hash;
  }

  /** What suppresses an address, under any of these keys, in each of the streams. */
  async subscriptionStates(
    scope: TenantScope,
    keys: readonly string[],
    streams: readonly string[],
  ): Promise<Map<string, 'subscribed' | 'unsubscribed' | 'blocked'>> {
    const bounds = { beforeId: LAST_UUID, sinceId: uuidFloor(0), limit: STATES_READ_MAX };
    const found = await listSuppressions(this.#pool, scope, { keys }, bounds, this.#clock.now());
    return new Map(
      streams.map((stream) => {
        const own = found.filter((one) => one.stream === stream || one.stream === EVERYWHERE);
        if (own.length === 0) return [stream, 'subscribed'];
        return [stream, own.every(isUnsubscribe) ? 'unsubscribed' : 'blocked'];
      }),
    );
  }

  /**
   * Removes what unsubscribing from these streams added, within the caller's transaction. Returns the
   * streams for which there was something to remove.
   */
  async resubscribe(
    client: Queryable,
    scope: TenantScope,
    keys: readonly string[],
    streams: readonly string[],
  ): Promise<string[]> {
    if (streams.length === 0) return [];
    const nowMs = this.#clock.now();
    const locked = await lockSuppressions(client, scope, keys, nowMs);
    const own = locked.filter((one) => streams.includes(one.stream) && isUnsubscribe(one));
    await deleteEntries(client, scope, own, nowMs);
    return [...new Set(own.map(({ stream }) => stream))];
  }

  /** What stops one stream for these addresses, by name or by hash. */
  async streamEntries(
    db: Queryable,
    scope: TenantScope,
    emailKeys: readonly string[],
    lock: '' | 'for update' = '',
  ): Promise<StreamEntry[]> {
    const addresses = new Map<string, string>();
    for (const key of emailKeys) {
      addresses.set(key, key).set(this.#hash(scope.workspaceId, scope.mode, key), key);
    }
    const keys = [...addresses.keys()];
    const found = await findStreamSuppressions(db, scope, keys, this.#clock.now(), lock);
    return found.map((entry) => ({
      entry,
      emailKey: addresses.get(entry.key) as string,
      isUnsubscribe: isUnsubscribe(entry),
    }));
  }

  /**
   * Adds what leaving a stream adds, for many addresses, within the caller's transaction. Existing
   * entries are kept and become permanent.
   */
  async unsubscribeMany(
    client: Queryable,
    scope: TenantScope,
    left: readonly { emailKey: string; stream: string }[],
  ): Promise<void> {
    const nowMs = this.#clock.now();
    const entries = left.map(({ emailKey: key, stream }) =>
      newEntry({ key, stream, email: key, domain: null, change: { reason: 'unsubscribe' } }, nowMs),
    );
    const inserted = await insertSuppressions(client, scope, entries, nowMs);
    for (const entry of entries) {
      if (!inserted.has(entry.id)) await makePermanent(client, scope, entry);
    }
    const added = entries.filter(({ id }) => inserted.has(id));
    await appendSuppressionEvents(client, 'suppression.created', scope, added, nowMs);
  }

  /** Removes entries that the caller has locked, within its transaction. */
  async removeLocked(
    client: Queryable,
    scope: TenantScope,
    entries: readonly Suppression[],
  ): Promise<void> {
    await deleteEntries(client, scope, entries, this.#clock.now());
  }
}
