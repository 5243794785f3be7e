import type { Pool } from '../db/connections/pool.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { IpRanges, isIpOrCidr } from '../lib/net/ip-ranges.ts';
import { type FieldError, invalidFields, RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseTime, timeOrNull } from '../lib/time/rfc3339.ts';
import {
  hashToken,
  isOperatorToken,
  isToken,
  newOperatorToken,
  tokenHint,
} from './api-key-token.ts';
import {
  findOperatorKeyByHash,
  insertOperatorKey,
  listOperatorKeys,
  type OperatorKey,
  revokeOperatorKey,
  writeOperatorKeyUse,
} from './operator-key-store.ts';

/**
 * Operator keys: credentials of the server for the operations under /operator. A presented secret comes
 * in, an OperatorCaller goes out. They have no workspace and no scopes, so they can do nothing else, and
 * no API key or session can do what they can.
 */

/** The authenticated caller of an operation under /operator. */
export interface OperatorCaller {
  /** The uuid of the key. */
  keyId: string;
  /** For the audit log: the public id of the key. */
  actor: string;
}

/** The one in the table of problems is about API keys, which are created in the dashboard. */
const INVALID_KEY_FIX =
  'Check for a typo or a truncated key, or create one with "postrider operator-keys create".';

export interface NewOperatorKey {
  name: string;
  allowed_ips?: readonly string[];
  /** A time in the future. */
  expires_at?: string | null;
}

/** The last use is written at most this often. */
const USE_WRITTEN_EVERY_MS = 60_000;

export class OperatorKeys {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  async create(wanted: NewOperatorKey): Promise<{ key: OperatorKey; token: string }> {
    const nowMs = this.#clock.now();
    const allowedIps = [...(wanted.allowed_ips ?? [])];
    const expiresAtMs = wanted.expires_at == null ? null : (parseTime(wanted.expires_at) ?? nowMs);
    checkLimits(allowedIps, expiresAtMs, nowMs);
    const token = newOperatorToken();
    const key: OperatorKey = {
      id: uuidv7(nowMs),
      name: wanted.name,
      tokenHint: tokenHint(token),
      allowedIps,
      createdAtMs: nowMs,
      expiresAtMs,
      lastUsedAtMs: null,
      revokedAtMs: null,
    };
    await insertOperatorKey(this.#pool, key, hashToken(token));
    return { key, token };
  }

  /** Newest first. */
  list(page: { before?: string; limit?: number } = {}): Promise<OperatorKey[]> {
    return listOperatorKeys(this.#pool, page);
  }

  /** Idempotent, and effective with the next request on every node, because keys are not cached. */
  async revoke(id: string): Promise<OperatorKey> {
    const key = await revokeOperatorKey(this.#pool, id, this.#clock.now());
    if (!key) throw new RefusedError('not_found', 'There is no operator key with this id.');
    return key;
  }

  /**
   * Throws a RefusedError with one of the 401 codes, operator_key_required or ip_not_allowed. Costs a
   * query, because platforms call these operations rarely, and a revoked key must end at once.
   */
  async authenticate(token: string, ip: string): Promise<OperatorCaller> {
    if (isToken(token)) throw operatorKeyRequired();
    if (!isOperatorToken(token)) {
      const detail = 'This is not a valid operator key: its format or checksum is wrong.';
      throw new RefusedError('invalid_api_key', detail, { fix: INVALID_KEY_FIX });
    }
    const key = await findOperatorKeyByHash(this.#pool, hashToken(token));
    if (!key) {
      throw new RefusedError('invalid_api_key', 'This operator key does not exist.', {
        fix: INVALID_KEY_FIX,
      });
    }
    const nowMs = this.#clock.now();
    checkUsable(key, ip, nowMs);
    if (key.lastUsedAtMs === null || nowMs - key.lastUsedAtMs >= USE_WRITTEN_EVERY_MS) {
      await writeOperatorKeyUse(this.#pool, key.id, nowMs);
    }
    return { keyId: key.id, actor: encodeId('opk', key.id) };
  }
}

/** The refusal of callers with another credential, whatever it permits. */
export function operatorKeyRequired(): RefusedError {
  const detail = 'This operation requires an operator key. API keys and sessions cannot use it.';
  return new RefusedError('operator_key_required', detail);
}

/** Refuses a key that was revoked, has expired, or is used from elsewhere. */
export function checkUsable(
  key: Pick<OperatorKey, 'revokedAtMs' | 'expiresAtMs' | 'allowedIps'>,
  ip: string,
  nowMs: number,
): void {
  if (key.revokedAtMs !== null) {
    throw new RefusedError('revoked_api_key', 'This operator key was revoked.');
  }
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) {
    throw new RefusedError('expired_api_key', 'This operator key has expired.');
  }
  if (key.allowedIps.length > 0 && !new IpRanges(key.allowedIps).includes(ip)) {
    throw new RefusedError('ip_not_allowed', `This operator key cannot be used from ${ip}.`);
  }
}

function checkLimits(networks: readonly string[], expiresAtMs: number | null, nowMs: number): void {
  const errors: FieldError[] = [];
  networks.forEach((text, index) => {
    if (isIpOrCidr(text)) return;
    const detail = 'Use an IP address or a CIDR range, such as 203.0.113.0/24.';
    errors.push({ pointer: `/allowed_ips/${index}`, code: 'invalid_network', detail });
  });
  if (expiresAtMs !== null && expiresAtMs <= nowMs) {
    const detail = 'Use a future time in RFC 3339 format with an offset.';
    errors.push({ pointer: '/expires_at', code: 'invalid_time', detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
}

/** The public form of a key, at the command line and for instance owners. */
export function publicOperatorKey(key: OperatorKey) {
  return {
    id: encodeId('opk', key.id),
    name: key.name,
    token_hint: key.tokenHint,
    allowed_ips: key.allowedIps,
    created_at: new Date(key.createdAtMs).toISOString(),
    expires_at: timeOrNull(key.expiresAtMs),
    last_used_at: timeOrNull(key.lastUsedAtMs),
    revoked_at: timeOrNull(key.revokedAtMs),
  };
}
