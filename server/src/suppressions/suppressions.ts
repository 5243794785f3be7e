import { isDeepStrictEqual } from 'node:util';
import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../db/pool.ts';
import { checkRetentionClock } from '../db/retention-clock.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId, uuidFloor, uuidv7 } from '../lib/ids.ts';
import { type FieldError, invalidFields, RefusedError } from '../lib/refused-error.ts';
import { parseMailbox } from '../mail/address.ts';
import { type AddressHash, isAddressHash } from './erased-address.ts';
import { type NewSuppression, parseChange, parseSuppression } from './suppression-fields.ts';
import {
  deleteExpired,
  deleteSuppressions,
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
 * The suppression list: addresses and domains that must not be sent to, live and test separate.
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

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
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
    const filter: SuppressionFilter = query.reason === undefined ? {} : { reason: query.reason };
    if (isSortedByKey(query)) {
      const bounds = { afterKey: after?.key ?? '', sinceId, untilId, limit };
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
      if (one.ok && !entries.has(one.key)) entries.set(one.key, newEntry(one, nowMs));
    }
    return inTransaction(this.#pool, async (client) => {
      const inserted = await insertSuppressions(client, scope, [...entries.values()], nowMs);
      // The insert has locked the existing entries, so they cannot disappear.
      const existing = await lockSuppressions(client, scope, [...entries.keys()], nowMs);
      const current = new Map(existing.map((one) => [one.key, one]));
      const fresh = new Set(inserted);
      const results = wanted.map((one): AddResult => {
        if (!one.ok) return { errors: one.errors };
        const created = fresh.delete(one.key);
        const before = current.get(one.key) as Suppression;
        const suppression = created ? before : { ...before, ...one.change };
        current.set(one.key, suppression);
        return { suppression, created };
      });
      const unchanged = new Set(existing);
      const changed = [...current.values()].filter((one) => !unchanged.has(one));
      await updateSuppressions(client, scope, changed);
      const added = [...inserted].map((key) => current.get(key) as Suppression);
      await appendSuppressionEvents(client, 'suppression.created', scope, added, nowMs);
      return results;
    });
  }

  /**
   * Suppresses an address after a bounce or a complaint, within the caller's transaction. An existing
   * entry is kept and becomes permanent.
   */
  async suppress(
    client: Queryable,
    scope: TenantScope,
    given: { emailKey: string; reason: 'hard_bounce' | 'complaint'; evidence: object },
  ): Promise<void> {
    const nowMs = this.#clock.now();
    const { emailKey, reason, evidence } = given;
    const wanted = { key: emailKey, email: emailKey, domain: null, change: { reason } };
    const entry = { ...newEntry(wanted, nowMs), evidence };
    const inserted = await insertSuppressions(client, scope, [entry], nowMs);
    if (inserted.size > 0)
      await appendSuppressionEvents(client, 'suppression.created', scope, [entry], nowMs);
    else await makePermanent(client, scope, entry);
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
      await this.#delete(client, scope, [entry], nowMs);
    });
  }

  /** Removes the address's own entry, by name or by hash; that of its domain is kept. */
  async removeByEmail(scope: TenantScope, email: string): Promise<void> {
    const nowMs = this.#clock.now();
    const keys = this.#lookupKeys(scope, email).filter((key) => !key.startsWith('@'));
    await inTransaction(this.#pool, async (client) => {
      const entries = await lockSuppressions(client, scope, keys, nowMs);
      if (entries.length === 0) throw notFound();
      await this.#delete(client, scope, entries, nowMs);
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
    const reviewed = new Map(entries.map((one) => [one.key, one]));
    return inTransaction(this.#pool, async (client) => {
      const locked = await lockSuppressions(client, scope, [...reviewed.keys()], nowMs);
      const unchanged = locked.filter((one) => isDeepStrictEqual(one, reviewed.get(one.key)));
      await this.#delete(client, scope, unchanged, nowMs);
      return unchanged;
    });
  }

  /**
   * Erases an address within the caller's transaction. With `keep` it stays suppressed by its hash
   * and its reason; everything else is deleted.
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
    if (keep && entries.some(({ key }) => key === hashKey)) {
      const named = entries.filter(({ key }) => key === emailKey);
      await this.#delete(client, scope, named.map(anonymized), nowMs, [emailKey]);
      return;
    }
    const reason = entries[0]?.reason ?? 'manual';
    await this.#delete(client, scope, entries.map(anonymized), nowMs, [emailKey, hashKey]);
    if (!keep) return;
    const change = { reason, note: null, expiresAtMs: entries[0]?.expiresAtMs ?? null };
    const hashed = newEntry({ key: hashKey, email: null, domain: null, change }, nowMs);
    await insertSuppressions(client, scope, [hashed], nowMs);
    await appendSuppressionEvents(client, 'suppression.created', scope, [hashed], nowMs);
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

  async #delete(
    client: Queryable,
    scope: TenantScope,
    entries: readonly Suppression[],
    nowMs: number,
    keys = entries.map(({ key }) => key),
  ): Promise<void> {
    await deleteSuppressions(client, scope, keys);
    await appendSuppressionEvents(client, 'suppression.deleted', scope, entries, nowMs);
  }
}

/** Whether entries are ordered by address instead of newest first. */
export function isSortedByKey(
  query: SuppressionQuery,
): query is SuppressionQuery & { prefix: string } {
  return query.prefix !== undefined && query.email === undefined;
}

/** The public form of an entry: in the API and in events. */
export function publicSuppression(entry: Suppression) {
  return {
    id: encodeId('sup', entry.id),
    email: entry.email,
    domain: entry.domain,
    reason: entry.reason,
    evidence: entry.evidence,
    note: entry.note,
    erased: isAddressHash(entry.key),
    created_at: new Date(entry.createdAtMs).toISOString(),
    expires_at: entry.expiresAtMs === null ? null : new Date(entry.expiresAtMs).toISOString(),
  };
}

function newEntry(
  wanted: {
    key: string;
    email: string | null;
    domain: string | null;
    change: Partial<Pick<Suppression, 'reason' | 'note' | 'expiresAtMs'>>;
  },
  nowMs: number,
): Suppression {
  const { key, email, domain, change } = wanted;
  const fields = { reason: 'manual', note: null, expiresAtMs: null, ...change } as const;
  return { key, id: uuidv7(nowMs), email, domain, evidence: null, createdAtMs: nowMs, ...fields };
}

/** An event about an address that is being erased must not contain it. */
function anonymized(entry: Suppression): Suppression {
  return { ...entry, key: '#', email: null, evidence: null, note: null };
}

async function appendSuppressionEvents(
  client: Queryable,
  type: SuppressionEvent,
  scope: TenantScope,
  entries: readonly Suppression[],
  atMs: number,
): Promise<void> {
  await appendEvents(
    client,
    entries.map((entry) => suppressionEvent(type, scope, entry, atMs)),
  );
}

type SuppressionEvent = 'suppression.created' | 'suppression.deleted';

function suppressionEvent(
  type: SuppressionEvent,
  { workspaceId, mode }: TenantScope,
  entry: Suppression,
  atMs: number,
): NewEvent {
  return { workspaceId, mode, type, atMs, data: { suppression: publicSuppression(entry) } };
}

function found(entry: Suppression | undefined): Suppression {
  if (!entry) throw notFound();
  return entry;
}

function notFound(): RefusedError {
  return new RefusedError('not_found', 'There is no suppression with this id or address.');
}
