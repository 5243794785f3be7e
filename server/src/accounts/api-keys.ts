import type { Pool } from '../db/connections/pool.ts';
import { inTransaction, type Queryable } from '../db/connections/pool.ts';
import type { SearchedPage } from '../db/statements/text-search.ts';
import type { EventType } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { IpRanges, isIpOrCidr } from '../lib/net/ip-ranges.ts';
import {
  type FieldError,
  fieldErrorsOf,
  invalidFields,
  RefusedError,
} from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseTime, timeOrNull } from '../lib/time/rfc3339.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import {
  type ApiKey,
  expireSecrets,
  findKey,
  insertKey,
  insertSecret,
  lastSearchedId,
  listKeys,
  markExpiring,
  notifyKeyChanged,
  updateKey,
} from './api-key-store.ts';
import { hashToken, newToken, tokenHint } from './api-key-token.ts';
import type { Caller } from './caller.ts';
import { SCOPES, type Scope, scopesFor } from './scopes.ts';
import { deleteSesCredentials } from './ses-credential-store.ts';
import type { Mode } from './tenant-scope.ts';

/**
 * The life cycle of API keys: created, changed, rotated with a grace period, revoked. Each change
 * commits with its event and notifies every node, which drops the workspace's keys from its cache.
 * A key never grants more than its issuer has, and a test key creates only test keys.
 */

export interface NewApiKey {
  name: string;
  mode?: Mode;
  scopes?: readonly Scope[];
  allowed_domains?: readonly string[];
  allowed_ips?: readonly string[];
  allowed_streams?: readonly string[];
  expires_at?: string | null;
}

export type ApiKeyChange = Omit<NewApiKey, 'mode' | 'name'> & { name?: string };

/** Creates keys: a caller with its limits, or the operator without limits. */
export type KeyIssuer = Pick<
  Caller,
  | 'workspaceId'
  | 'mode'
  | 'scopes'
  | 'allowedDomains'
  | 'allowedIps'
  | 'allowedStreams'
  | 'endsAtMs'
  | 'actor'
> & { keyId?: Caller['keyId'] };

/** The actor is `cli`, or the public id of an operator key. */
export function operatorIssuer(workspaceId: string, actor = 'cli'): KeyIssuer {
  const scopes = new Set(SCOPES);
  return { workspaceId, mode: 'live', scopes, allowedDomains: [], actor };
}

const EXPIRY_NOTICE_MS = 7 * 24 * 60 * 60 * 1000;
export const GRACE_MAX_SECONDS = 30 * 24 * 60 * 60;

export class ApiKeys {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #onChange: (workspaceId: string) => void;

  /** `onChange` is called after each commit, so that this node does not wait for its own notification. */
  constructor(parts: { pool: Pool; clock: Clock; onChange?: (workspaceId: string) => void }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#onChange = parts.onChange ?? (() => {});
  }

  async create(issuer: KeyIssuer, wanted: NewApiKey): Promise<{ key: ApiKey; token: string }> {
    const nowMs = this.#clock.now();
    const mode = wanted.mode ?? issuer.mode;
    const limits = parseLimits({ ...wanted, mode }, nowMs);
    const grantable = scopesFor(mode).filter((scope) => issuer.scopes.has(scope));
    const scopes = [...new Set(wanted.scopes ?? grantable)];
    checkGrant(issuer, { mode, scopes, ...limits });
    const token = newToken(mode);
    const key: ApiKey = {
      workspaceId: issuer.workspaceId,
      id: uuidv7(nowMs),
      mode,
      name: wanted.name,
      scopes,
      ...limits,
      tokenHint: tokenHint(token),
      createdBy: issuer.actor,
      createdAtMs: nowMs,
      lastUsedAtMs: null,
      revokedAtMs: null,
    };
    await inTransaction(this.#pool, async (client) => {
      await insertKey(client, key);
      await insertSecret(client, key, hashToken(token));
      await appendKeyEvent(client, 'api_key.created', key, nowMs);
    });
    return { key, token };
  }

  /** Errors in the fields that are present, for a key that failed schema validation in others. */
  fieldErrors(given: Partial<NewApiKey>): readonly FieldError[] {
    return fieldErrorsOf(() => parseLimits(given, this.#clock.now()));
  }

  async get(issuer: KeyIssuer, id: string): Promise<ApiKey> {
    return visibleTo(issuer, await findKey(this.#pool, issuer.workspaceId, id));
  }

  async list(
    { mode, workspaceId }: KeyIssuer,
    page: SearchedPage,
  ): Promise<{ keys: ApiKey[]; nextBefore: string | undefined }> {
    const query = { ...page, ...(mode === 'test' ? { mode } : {}) };
    const found = await listKeys(this.#pool, workspaceId, { ...query, limit: page.limit + 1 });
    const keys = found.slice(0, page.limit);
    if (found.length > page.limit) return { keys, nextBefore: keys.at(-1)?.id };
    if (page.text === undefined) return { keys, nextBefore: undefined };
    return { keys, nextBefore: await lastSearchedId(this.#pool, workspaceId, query) };
  }

  async change(issuer: KeyIssuer, id: string, change: ApiKeyChange): Promise<ApiKey> {
    const nowMs = this.#clock.now();
    return this.#commit(issuer, async (client) => {
      const key = await lockKey(client, issuer, id);
      const { mode } = key;
      const kept = {
        mode,
        allowed_domains: key.allowedDomains,
        allowed_ips: key.allowedIps,
        allowed_streams: key.allowedStreams,
      };
      const limits = parseLimits({ ...kept, ...change }, nowMs);
      const expiresAtMs = change.expires_at === undefined ? key.expiresAtMs : limits.expiresAtMs;
      const scopes = change.scopes ? [...new Set(change.scopes)] : key.scopes;
      const changed = { ...key, ...limits, expiresAtMs, scopes, name: change.name ?? key.name };
      checkGrant(issuer, changed);
      await updateKey(client, changed);
      await notifyKeyChanged(client, key.workspaceId);
      return changed;
    });
  }

  /** Creates a new secret. The old ones keep working for the grace period. */
  async rotate(
    issuer: KeyIssuer,
    id: string,
    graceSeconds: number,
  ): Promise<{ key: ApiKey; token: string; previousEndsAtMs: number }> {
    checkGracePeriod(graceSeconds);
    const nowMs = this.#clock.now();
    const previousEndsAtMs = nowMs + graceSeconds * 1000;
    return this.#commit(issuer, async (client) => {
      const key = await lockKey(client, issuer, id);
      checkGrant(issuer, key);
      const token = newToken(key.mode);
      const rotated = { ...key, tokenHint: tokenHint(token) };
      await expireSecrets(client, key, previousEndsAtMs);
      await insertSecret(client, key, hashToken(token));
      await updateKey(client, rotated);
      await appendKeyEvent(client, 'api_key.rotated', rotated, nowMs);
      return { key: rotated, token, previousEndsAtMs };
    });
  }

  /** Idempotent: revoking a revoked key is not an error. */
  async revoke(issuer: KeyIssuer, id: string): Promise<ApiKey> {
    const nowMs = this.#clock.now();
    return this.#commit(issuer, async (client) => {
      const key = visibleTo(issuer, await findKey(client, issuer.workspaceId, id, 'for update'));
      if (key.revokedAtMs !== null) return key;
      const revoked = { ...key, revokedAtMs: nowMs };
      await updateKey(client, revoked);
      await deleteSesCredentials(client, key);
      await appendKeyEvent(client, 'api_key.revoked', revoked, nowMs);
      return revoked;
    });
  }

  /**
   * Publishes one event for each key that expires within seven days. Runs periodically on every
   * node.
   */
  async notifyExpiring(): Promise<void> {
    const nowMs = this.#clock.now();
    await inTransaction(this.#pool, async (client) => {
      for (const key of await markExpiring(client, nowMs, nowMs + EXPIRY_NOTICE_MS)) {
        await appendKeyEvent(client, 'api_key.expiring', key, nowMs);
      }
    });
  }

  async #commit<T>(
    { workspaceId }: KeyIssuer,
    work: (client: Queryable) => Promise<T>,
  ): Promise<T> {
    const result = await inTransaction(this.#pool, work);
    this.#onChange(workspaceId);
    return result;
  }
}

/** The key, locked for a change. Throws if it does not exist, is not visible or is revoked. */
export async function lockKey(client: Queryable, issuer: KeyIssuer, id: string): Promise<ApiKey> {
  const key = visibleTo(issuer, await findKey(client, issuer.workspaceId, id, 'for update'));
  if (key.revokedAtMs !== null) {
    throw new RefusedError('conflict', 'This key is revoked and cannot be changed.');
  }
  return key;
}

/** The public form of a key: in the API, in events and at the command line. */
export function publicApiKey(key: ApiKey) {
  return {
    id: encodeId('key', key.id),
    name: key.name,
    mode: key.mode,
    scopes: key.scopes,
    allowed_domains: key.allowedDomains,
    allowed_ips: key.allowedIps,
    allowed_streams: key.allowedStreams,
    token_hint: key.tokenHint,
    created_by: key.createdBy,
    created_at: new Date(key.createdAtMs).toISOString(),
    expires_at: timeOrNull(key.expiresAtMs),
    last_used_at: timeOrNull(key.lastUsedAtMs),
    revoked_at: timeOrNull(key.revokedAtMs),
  };
}

function visibleTo(issuer: KeyIssuer, key: ApiKey | undefined): ApiKey {
  if (!key || (issuer.mode === 'test' && key.mode === 'live')) {
    throw new RefusedError('not_found', 'There is no API key with this id.');
  }
  return key;
}

/** Refuses what would give the issuer more than it has. */
export function checkGrant(
  issuer: KeyIssuer,
  wanted: Pick<
    ApiKey,
    'mode' | 'scopes' | 'allowedDomains' | 'allowedIps' | 'allowedStreams' | 'expiresAtMs'
  >,
): void {
  if (issuer.mode === 'test' && wanted.mode === 'live') {
    throw new RefusedError('wrong_mode', 'A test key can create only test keys.', {
      fix: 'Use a live key, or create the key at {app}/app/api-keys.',
    });
  }
  const lacking = wanted.scopes.filter((scope) => !issuer.scopes.has(scope));
  if (lacking.length > 0) {
    throw new RefusedError(
      'insufficient_scope',
      `A key cannot grant scopes it does not have. This key lacks ${lacking.join(', ')}.`,
      { fix: 'Request fewer scopes, or create the key at {app}/app/api-keys.' },
    );
  }
  const { allowedDomains, allowedIps = [], allowedStreams = [] } = issuer;
  if (
    exceedsLimits(wanted.allowedDomains, allowedDomains, (domain) =>
      allowedDomains.includes(domain),
    )
  ) {
    throw exceedsIssuer(`is limited to ${allowedDomains.join(', ')}`, 'allowed_domains');
  }
  const networks = new IpRanges(allowedIps);
  if (exceedsLimits(wanted.allowedIps, allowedIps, (network) => networks.containsRange(network))) {
    throw exceedsIssuer(`is limited to ${allowedIps.join(', ')}`, 'allowed_ips');
  }
  if (exceedsLimits(wanted.allowedStreams, allowedStreams, (key) => allowedStreams.includes(key))) {
    throw exceedsIssuer(`is limited to ${allowedStreams.join(', ')}`, 'allowed_streams');
  }
  // A person's session also expires, but what they create outlives it. A rotated secret must not
  // create a successor for itself during its grace period.
  const endsAtMs = issuer.keyId === undefined ? Infinity : (issuer.endsAtMs ?? Infinity);
  if ((wanted.expiresAtMs ?? Infinity) > endsAtMs) {
    throw exceedsIssuer(`expires at ${new Date(endsAtMs).toISOString()}`, 'expires_at');
  }
}

/** An empty list means no limit. */
function exceedsLimits(
  wanted: readonly string[],
  limits: readonly string[],
  isWithin: (one: string) => boolean,
): boolean {
  return limits.length > 0 && (wanted.length === 0 || !wanted.every(isWithin));
}

/**
 * Rejected instead of shortened: a secret that expired sooner than requested would be noticed too
 * late.
 */
function checkGracePeriod(graceSeconds: number): void {
  if (graceSeconds <= GRACE_MAX_SECONDS) return;
  const detail = 'The grace period can be at most 30 days.';
  throw new RefusedError('validation_failed', detail, {
    errors: [{ pointer: '/grace_seconds', code: 'out_of_range', detail }],
  });
}

function exceedsIssuer(limit: string, field: string): RefusedError {
  return new RefusedError(
    'insufficient_scope',
    `A key cannot grant more than it has. This key ${limit}.`,
    { fix: `Stay within this limit in ${field}, or create the key at {app}/app/api-keys.` },
  );
}

function parseLimits(
  wanted: Omit<Partial<NewApiKey>, 'name'>,
  nowMs: number,
): Pick<ApiKey, 'allowedDomains' | 'allowedIps' | 'allowedStreams' | 'expiresAtMs'> {
  const errors: FieldError[] = [];
  const usable = scopesFor(wanted.mode ?? 'live');
  (wanted.scopes ?? []).forEach((scope, index) => {
    if (usable.includes(scope)) return;
    const detail = `Test keys cannot use ${scope}, because live mail depends on it.`;
    errors.push({ pointer: `/scopes/${index}`, code: 'live_keys_only', detail });
  });
  const allowedDomains = (wanted.allowed_domains ?? []).map((text, index) => {
    const parsed = parseDomainName(text);
    if (parsed.ok) return parsed.domain;
    const pointer = `/allowed_domains/${index}`;
    errors.push({ pointer, code: 'invalid_domain', detail: parsed.detail });
    return text;
  });
  (wanted.allowed_ips ?? []).forEach((text, index) => {
    if (isIpOrCidr(text)) return;
    const detail = 'Use an IP address or a CIDR range, such as 203.0.113.0/24.';
    errors.push({ pointer: `/allowed_ips/${index}`, code: 'invalid_network', detail });
  });
  let expiresAtMs: number | null = null;
  if (wanted.expires_at != null) {
    expiresAtMs = parseTime(wanted.expires_at) ?? nowMs;
    if (expiresAtMs <= nowMs) {
      const detail = 'Use a future time in RFC 3339 format with an offset.';
      errors.push({ pointer: '/expires_at', code: 'invalid_time', detail });
    }
  }
  if (errors.length > 0) throw invalidFields(errors);
  const allowedIps = [...(wanted.allowed_ips ?? [])];
  const allowedStreams = [...new Set(wanted.allowed_streams ?? [])];
  return { allowedDomains: [...new Set(allowedDomains)], allowedIps, allowedStreams, expiresAtMs };
}

async function appendKeyEvent(
  client: Queryable,
  type: EventType,
  key: ApiKey,
  atMs: number,
): Promise<void> {
  await appendEvents(client, [
    {
      workspaceId: key.workspaceId,
      mode: key.mode,
      type,
      atMs,
      data: { api_key: publicApiKey(key) },
    },
  ]);
  await notifyKeyChanged(client, key.workspaceId);
}
