import { isDeepStrictEqual } from 'node:util';
import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { checkRetentionClock } from '../db/retention-clock.ts';
import { appendEvents } from '../events/events-store.ts';
import { LAST_UUID, uuidFloor } from '../lib/ids.ts';
import { type FieldError, invalidFields, RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseMailbox } from '../mail/address.ts';
import { type AddressHash, isAddressHash } from './erased-address.ts';
import {
  anonymized,
  appendSuppressionEvents,
  deleteEntries,
  newEntry,
  suppressionEvent,
} from './suppression-entry.ts';
import { type NewSuppression, parseChange, parseSuppression } from './suppression-fields.ts';
import {
  deleteExpired,
  deleteSuppressionKeys,
  EVERYWHERE,
  findSuppression,
  hasExpired,
  insertSuppressions,
  listSuppressions,
  listSuppressionsByPrefix,
  lockSuppressions,
  makePermanent,
  type Suppression,
  type SuppressionFilter,
  type SuppressionReason,
  updateSuppressions,
} from './suppression-store.ts';

/**
 * The suppression list: addresses and domains that must not be sent to, everywhere or in one stream,
 * live and test separate.
 * Accepting and delivering consult it; hard bounces and complaints add to it; callers manage it
 * here. Every entry is created or deleted in one commit with its event. Expired entries are removed
 * periodically.
 */

export interface SuppressionQuery {
  /**
   * Everything that suppresses this address: its own entry, that of its domain, and the hash left
   * by an erasure.
   */
  email?: string;
  /** The beginning of an address or a domain. */
  prefix?: string;
  reason?: SuppressionReason;
  /** Only entries that apply to this stream. */
  stream?: string;
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

/** The entry after which the next page starts. */
export interface SuppressionPosition {
  id: string;
  key: string;
}

export type AddResult =
  | { suppression: Suppression; created: boolean }
  | { errors: [FieldError, ...FieldError[]] };

const FIRST_POSITION: SuppressionPosition = { key: '', id: uuidFloor(0) };
const EXPIRED_BATCH = 500;
const REVIEW_PAGE = 500;

export class Suppressions {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #hash: AddressHash;

  constructor(parts: { pool: Pool; clock: Clock; hash: AddressHash }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#hash = parts.hash;
  }

  /** Newest first; with a prefix, ordered by address. */
  list(
    scope: TenantScope,
    query: SuppressionQuery,
    page: { after: SuppressionPosition | undefined; limit: number },
  ): Promise<Suppression[]> {
    const nowMs = this.#clock.now();
    const { after, limit } = page;
    const sinceId = uuidFloor(query.createdAfterMs ?? 0);
    const untilId =
      query.createdBeforeMs === undefined ? LAST_UUID : uuidFloor(query.createdBeforeMs);
    const { reason, stream } = query;
    const filter: SuppressionFilter = {
      ...(reason === undefined ? {} : { reason }),
      ...(stream === undefined ? {} : { stream }),
    };
    if (isSortedByKey(query)) {
      const bounds = { after: after ?? FIRST_POSITION, sinceId, untilId, limit };
      const prefix = query.prefix.toLowerCase();
      return listSuppressionsByPrefix(this.#pool, scope, prefix, filter, bounds, nowMs);
    }
    const keys = query.email === undefined ? {} : { keys: this.#lookupKeys(scope, query.email) };
    const beforeId = after && after.id < untilId ? after.id : untilId;
    const bounds = { beforeId, sinceId, limit };
    return listSuppressions(this.#pool, scope, { ...filter, ...keys }, bounds, nowMs);
  }

  /**
   * Errors in the fields that are present, for an entry that failed schema validation in others.
   */
  fieldErrors(given: NewSuppression, isWhole: boolean): readonly FieldError[] {
    const nowMs = this.#clock.now();
    const parsed = isWhole ? parseSuppression(given, nowMs) : parseChange(given, nowMs);
    return parsed.ok ? [] : parsed.errors;
  }

  /** Adds an entry, or updates the existing one. */
  async add(
    scope: TenantScope,
    given: NewSuppression,
  ): Promise<{ suppression: Suppression; created: boolean }> {
    const [result] = await this.addMany(scope, [given]);
    if (!result) throw new Error('Broken invariant: every entry has a result');
    if ('errors' in result) throw invalidFields(result.errors);
    return result;
  }

  /** Adds the valid entries in one commit. Returns a result for each. */
  async addMany(scope: TenantScope, given: readonly NewSuppression[]): Promise<AddResult[]> {
    const nowMs = this.#clock.now();
    const wanted = given.map((one) => parseSuppression(one, nowMs));
    const entries = new Map<string, Suppression>();
    for (const one of wanted) {
      if (!one.ok) continue;
      const at = targetOf(one);
      if (!entries.has(at)) entries.set(at, newEntry(one, nowMs));
    }
    const keys = [...new Set([...entries.values()].map(({ key }) => key))];
    return inTransaction(this.#pool, async (client) => {
      const inserted = await insertSuppressions(client, scope, [...entries.values()], nowMs);
      // The insert has locked the existing entries, so they cannot disappear.
      const existing = await lockSuppressions(client, scope, keys, nowMs);
      const current = new Map(existing.map((one) => [targetOf(one), one]));
      const fresh = new Set(inserted);
      const results = wanted.map((one): AddResult => {
        if (!one.ok) return { errors: one.errors };
        const at = targetOf(one);
        const before = current.get(at) as Suppression;
        const created = fresh.delete(before.id);
        const suppression = created ? before : { ...before, ...one.change };
        current.set(at, suppression);
        return { suppression, created };
      });
      const unchanged = new Set(existing);
      const changed = [...current.values()].filter((one) => !unchanged.has(one));
      await updateSuppressions(client, scope, changed);
      const added = [...current.values()].filter(({ id }) => inserted.has(id));
      await appendSuppressionEvents(client, 'suppression.created', scope, added, nowMs);
      return results;
    });
  }

  /**
   * Suppresses an address after a bounce, a complaint or an unsubscribe, within the caller's
   * transaction: in one stream, or EVERYWHERE. An existing entry is kept and becomes permanent. Returns
   * whether anything changed.
   */
  async suppress(
    client: Queryable,
    scope: TenantScope,
    given: {
      /** The hash of the address if it was erased. */
      emailKey: string;
      stream: string;
      reason: 'hard_bounce' | 'complaint' | 'unsubscribe';
      evidence: object | null;
    },
  ): Promise<boolean> {
    const nowMs = this.#clock.now();
    const { emailKey: key, stream, reason, evidence } = given;
    const email = isAddressHash(key) ? null : key;
    const wanted = { key, stream, email, domain: null, change: { reason } };
    const entry = { ...newEntry(wanted, nowMs), evidence };
    const inserted = await insertSuppressions(client, scope, [entry], nowMs);
    if (inserted.size === 0) return makePermanent(client, scope, entry);
    await appendSuppressionEvents(client, 'suppression.created', scope, [entry], nowMs);
    return true;
  }

  async get(scope: TenantScope, id: string): Promise<Suppression> {
    return found(await findSuppression(this.#pool, scope, id, this.#clock.now()));
  }

  async change(
    scope: TenantScope,
    id: string,
    given: Pick<NewSuppression, 'reason' | 'note' | 'expires_at'>,
  ): Promise<Suppression> {
    const nowMs = this.#clock.now();
    const parsed = parseChange(given, nowMs);
    if (!parsed.ok) throw invalidFields(parsed.errors);
    return inTransaction(this.#pool, async (client) => {
      const before = found(await findSuppression(client, scope, id, nowMs, 'for update'));
      const after = { ...before, ...parsed.change };
      await updateSuppressions(client, scope, [after]);
      return after;
    });
  }

  async remove(scope: TenantScope, id: string): Promise<void> {
    const nowMs = this.#clock.now();
    await inTransaction(this.#pool, async (client) => {
      const entry = found(await findSuppression(client, scope, id, nowMs, 'for update'));
      await deleteEntries(client, scope, [entry], nowMs);
    });
  }

  /**
   * Removes the address's own entries, by name or by hash: all of them, or those that apply to a
   * stream. Those of its domain are kept.
   */
  async removeByEmail(scope: TenantScope, email: string, stream?: string): Promise<void> {
    const nowMs = this.#clock.now();
    const keys = this.#lookupKeys(scope, email).filter((key) => !key.startsWith('@'));
    await inTransaction(this.#pool, async (client) => {
      const locked = await lockSuppressions(client, scope, keys, nowMs);
      const entries = locked.filter(
        (one) => stream === undefined || one.stream === stream || one.stream === EVERYWHERE,
      );
      if (entries.length === 0) throw notFound();
      await deleteEntries(client, scope, entries, nowMs);
    });
  }

  /**
   * Goes through the entries that hard bounces made, newest first, and yields those whose evidence
   * no longer suppresses, a page at a time. With `remove`, each page is removed before it is
   * yielded, except for entries that have changed in the meantime.
   */
  async *reviewHardBounces(
    scope: TenantScope,
    options: { isOutdated: (entry: Suppression) => boolean; remove: boolean },
  ): AsyncGenerator<Suppression[]> {
    let after: SuppressionPosition | undefined;
    for (;;) {
      const page = await this.list(scope, { reason: 'hard_bounce' }, { after, limit: REVIEW_PAGE });
      const outdated = page.filter(options.isOutdated);
      const found = options.remove ? await this.#removeUnchanged(scope, outdated) : outdated;
      if (found.length > 0) yield found;
      after = page.at(-1);
      if (page.length < REVIEW_PAGE) return;
    }
  }

  async #removeUnchanged(
    scope: TenantScope,
    entries: readonly Suppression[],
  ): Promise<Suppression[]> {
    if (entries.length === 0) return [];
    const nowMs = this.#clock.now();
    const reviewed = new Map(entries.map((one) => [one.id, one]));
    const keys = [...new Set(entries.map(({ key }) => key))];
    return inTransaction(this.#pool, async (client) => {
      const locked = await lockSuppressions(client, scope, keys, nowMs);
      const unchanged = locked.filter((one) => isDeepStrictEqual(one, reviewed.get(one.id)));
      await deleteEntries(client, scope, unchanged, nowMs);
      return unchanged;
    });
  }

  /**
   * Erases an address within the caller's transaction. With `keep` it stays suppressed everywhere, by
   * its hash and its reason; everything else is deleted.
   */
  async eraseAddress(
    client: Queryable,
    scope: TenantScope,
    emailKey: string,
    keep: boolean,
  ): Promise<void> {
    const nowMs = this.#clock.now();
    const hashKey = this.#hash(scope.workspaceId, scope.mode, emailKey);
    const entries = await lockSuppressions(client, scope, [emailKey, hashKey], nowMs);
    const named = entries.filter(({ key }) => key === emailKey);
    const hashed = entries.filter(({ key }) => key === hashKey);
    const ended = keep ? named : entries;
    await deleteSuppressionKeys(client, scope, keep ? [emailKey] : [emailKey, hashKey]);
    const gone = ended.map(anonymized);
    await appendSuppressionEvents(client, 'suppression.deleted', scope, gone, nowMs);
    if (!keep) return;
    const kept = new Set(hashed.map(({ stream }) => stream));
    const scopes: Pick<Suppression, 'stream' | 'reason' | 'expiresAtMs'>[] = [...named];
    if (!entries.some(({ stream }) => stream === EVERYWHERE)) {
      const reason = named[0]?.reason ?? 'manual';
      scopes.push({ stream: EVERYWHERE, reason, expiresAtMs: null });
    }
    const added = scopes
      .filter(({ stream }) => !kept.has(stream))
      .map(({ stream, reason, expiresAtMs }) => {
        const change = { reason, note: null, expiresAtMs };
        return newEntry({ key: hashKey, stream, email: null, domain: null, change }, nowMs);
      });
    await insertSuppressions(client, scope, added, nowMs);
    await appendSuppressionEvents(client, 'suppression.created', scope, added, nowMs);
  }

  /**
   * Removes expired entries. Runs periodically on every node. It uses the retention clock, because a
   * wrong system clock must not remove them all.
   */
  async removeExpired(): Promise<void> {
    if (!(await hasExpired(this.#pool, this.#clock.now()))) return;
    const time = await checkRetentionClock(this.#pool, this.#clock.now());
    if (!('nowMs' in time)) return;
    const { nowMs } = time;
    for (let removed = EXPIRED_BATCH; removed === EXPIRED_BATCH; ) {
      removed = await inTransaction(this.#pool, async (client) => {
        const ended = await deleteExpired(client, nowMs, EXPIRED_BATCH);
        const events = ended.map((one) => suppressionEvent('suppression.deleted', one, one, nowMs));
        await appendEvents(client, events);
        return ended.length;
      });
    }
  }

  #lookupKeys(scope: TenantScope, email: string): string[] {
    const parsed = parseMailbox(email);
    if (!parsed.ok) return [];
    const { key, domain } = parsed.mailbox;
    return [key, `@${domain}`, this.#hash(scope.workspaceId, scope.mode, key)];
  }
}

/** Whether entries are ordered by address instead of newest first. */
export function isSortedByKey(
  query: SuppressionQuery,
): query is SuppressionQuery & { prefix: string } {
  return query.prefix !== undefined && query.email === undefined;
}

/** Whether more entries than a page may be examined, because no index combines these filters. */
export function scansSuppressions(query: SuppressionQuery): boolean {
  const { reason, stream, createdAfterMs, createdBeforeMs } = query;
  const filters = [reason, stream, createdAfterMs, createdBeforeMs];
  return isSortedByKey(query) && filters.some((value) => value !== undefined);
}

/** Identifies an entry by what it suppresses: an address or domain, in a stream or everywhere. */
function targetOf({ key, stream }: Pick<Suppression, 'key' | 'stream'>): string {
  return `${stream} ${key}`;
}

function found(entry: Suppression | undefined): Suppression {
  if (!entry) throw notFound();
  return entry;
}

function notFound(): RefusedError {
  return new RefusedError('not_found', 'There is no suppression with this id or address.');
}
