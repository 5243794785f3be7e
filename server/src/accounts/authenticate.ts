import type { Pool } from '../db/connections/pool.ts';
import type { Encryptor } from '../lib/crypto/encryption.ts';
import { encodeId } from '../lib/ids.ts';
import { IpRanges } from '../lib/net/ip-ranges.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { ApiKeyCache, type CachedKey, type SigningCredential } from './api-key-cache.ts';
import { type ApiKey, findKeyByHash, writeLastUsed } from './api-key-store.ts';
import { hashToken, hasOperatorPrefix, isAccessKeyId, isToken } from './api-key-token.ts';
import type { Caller } from './caller.ts';
import { findMovedBySecret } from './moved-workspace-store.ts';
import type { Scope } from './scopes.ts';
import { findKeyBySesCredential } from './ses-credential-store.ts';
import { WorkspaceMovedError } from './workspace-moved.ts';
import { WorkspaceMovingError } from './workspace-moving.ts';

/**
 * Authenticates API keys: a presented secret comes in, a Caller goes out. For requests that are signed
 * instead, it finds the secret to verify them with. Last-used times are collected and written
 * periodically in one statement.
 */

export type { SigningCredential };

export class Authenticator {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #encryptor: Encryptor;
  readonly #cache: ApiKeyCache;
  /** Used since last-used times were written. A key is in it twice if it was read again meanwhile. */
  #used: CachedKey[] = [];

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    maxAgeMs: () => number;
    /** Decrypts the secrets of SES credentials. */
    encryptor: Encryptor;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#encryptor = parts.encryptor;
    this.#cache = new ApiKeyCache(parts);
  }

  /** Throws a RefusedError with one of the 401 codes, or ip_not_allowed. */
  authenticate(token: string, ip: string): Caller | Promise<Caller> {
    const cached = this.#cache.get(token);
    if (cached) return this.#authorize(cached, ip);
    if (hasOperatorPrefix(token)) {
      const detail =
        'This is an operator key. It can only be used for operations under /api/v1/operator.';
      throw new RefusedError('invalid_api_key', detail);
    }
    if (!isToken(token)) {
      throw new RefusedError(
        'invalid_api_key',
        'This is not a valid Postrider API key: its format or checksum is wrong.',
      );
    }
    return this.#cache
      .read(token, () => this.#findByToken(token))
      .then((found) => {
        if (!found) throw new RefusedError('invalid_api_key', 'This API key does not exist.');
        return this.#authorize(found, ip);
      });
  }

  /**
   * Finds the key of a signed request. Nothing is proved until its signature was verified with the
   * secret. Throws a RefusedError if there is no such credential.
   */
  findSigningCredential(accessKeyId: string): SigningCredential | Promise<SigningCredential> {
    const cached = this.#cache.get(accessKeyId);
    if (cached) return this.#signingCredential(cached);
    const reading = isAccessKeyId(accessKeyId)
      ? this.#cache.read(accessKeyId, () => this.#findByAccessKeyId(accessKeyId))
      : Promise.resolve(undefined);
    return reading.then((found) => this.#signingCredential(found));
  }

  #signingCredential(found: CachedKey | undefined): SigningCredential {
    if (found?.signing) return found.signing;
    const detail = 'There are no SES credentials with this access key ID, or they were revoked.';
    throw new RefusedError('invalid_api_key', detail);
  }

  /** A key of the workspace was changed, on this node or another. */
  invalidateWorkspace(workspaceId: string): void {
    this.#cache.invalidateWorkspace(workspaceId);
  }

  /** Notifications were lost. */
  invalidateAll(): void {
    this.#cache.invalidateAll();
  }

  /** Writes the last-used times collected so far. */
  async flushLastUsed(): Promise<void> {
    if (this.#used.length === 0) return;
    const used = this.#used.map(({ caller, usedAtMs }) => ({
      workspaceId: caller.workspaceId,
      id: caller.keyId,
      atMs: usedAtMs as number,
    }));
    for (const one of this.#used) one.usedAtMs = null;
    this.#used = [];
    await writeLastUsed(this.#pool, used);
  }

  async #findByToken(token: string): Promise<CachedKey | undefined> {
    const hash = hashToken(token);
    const row = await findKeyByHash(this.#pool, hash);
    if (!row) {
      const moved = await findMovedBySecret(this.#pool, hash, this.#clock.now());
      if (moved) throw new WorkspaceMovedError(moved);
      return undefined;
    }
    const { secretEndsAtMs, isMoving, ...key } = row;
    if (isMoving) throw new WorkspaceMovingError();
    return toCachedKey(key, secretEndsAtMs);
  }

  async #findByAccessKeyId(accessKeyId: string): Promise<CachedKey | undefined> {
    const row = await findKeyBySesCredential(this.#pool, accessKeyId);
    if (!row) return undefined;
    const { encryptedSecret, isMoving, ...key } = row;
    if (isMoving) throw new WorkspaceMovingError();
    const cached = toCachedKey(key, null);
    const secret = decrypted(this.#encryptor, encryptedSecret);
    if (secret === undefined) return cached;
    cached.signing = { secret, authorize: (ip) => this.#authorize(cached, ip) };
    return cached;
  }

  #authorize(cached: CachedKey, ip: string): Caller {
    const nowMs = this.#clock.now();
    if (cached.revokedAtMs !== null) {
      throw new RefusedError('revoked_api_key', 'This API key was revoked.');
    }
    if (cached.expiresAtMs !== null && cached.expiresAtMs <= nowMs) {
      throw new RefusedError('expired_api_key', 'This API key has expired.');
    }
    if (cached.secretEndsAtMs !== null && cached.secretEndsAtMs <= nowMs) {
      throw new RefusedError(
        'expired_api_key',
        'This secret was rotated and its grace period is over.',
      );
    }
    if (cached.networks && !cached.networks.includes(ip)) {
      throw new RefusedError('ip_not_allowed', `This API key cannot be used from ${ip}.`);
    }
    if (cached.usedAtMs === null) this.#used.push(cached);
    cached.usedAtMs = nowMs;
    return cached.caller;
  }
}

/** Undefined if SECRET_KEY was replaced: the secret is lost, and new credentials are needed. */
function decrypted(encryptor: Encryptor, encrypted: Buffer): string | undefined {
  try {
    return encryptor.decrypt(encrypted).toString();
  } catch {
    return undefined;
  }
}

function toCachedKey(key: ApiKey, secretEndsAtMs: number | null): CachedKey {
  return {
    caller: toCaller(key, secretEndsAtMs),
    revokedAtMs: key.revokedAtMs,
    expiresAtMs: key.expiresAtMs,
    secretEndsAtMs,
    signing: undefined,
    networks: key.allowedIps.length > 0 ? new IpRanges(key.allowedIps) : undefined,
    usedAtMs: null,
  };
}

function toCaller(key: ApiKey, secretEndsAtMs: number | null): CachedKey['caller'] {
  return {
    endsAtMs: Math.min(key.expiresAtMs ?? Infinity, secretEndsAtMs ?? Infinity),
    workspaceId: key.workspaceId,
    mode: key.mode,
    scopes: sharedScopes(key.scopes),
    allowedDomains: key.allowedDomains,
    allowedIps: key.allowedIps,
    allowedStreams: key.allowedStreams,
    actor: encodeId('key', key.id),
    keyId: key.id,
  };
}

/** By their names. Nearly all keys have one of a few sets. */
const scopeSets = new Map<string, ReadonlySet<Scope>>();
const SCOPE_SETS_MAX = 1_000;

/** Callers share a set, so that it is in the processor's caches when thousands of keys take turns. */
function sharedScopes(scopes: readonly Scope[]): ReadonlySet<Scope> {
  const names = scopes.join(' ');
  const known = scopeSets.get(names);
  if (known) return known;
  if (scopeSets.size >= SCOPE_SETS_MAX) scopeSets.clear();
  const scopeSet = new Set(scopes);
  scopeSets.set(names, scopeSet);
  return scopeSet;
}
