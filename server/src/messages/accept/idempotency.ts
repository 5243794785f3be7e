import { hash } from 'node:crypto';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { isConnectionError } from '../../db/connections/database-errors.ts';
import type { Pool } from '../../db/connections/pool.ts';
import type { Encryptor } from '../../lib/crypto/encryption.ts';
import type { Hmac } from '../../lib/crypto/hmac.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  acquireKey,
  completeKey,
  findKeyRow,
  type IdempotencyKeyRow,
  releaseKey,
} from './idempotency-store.ts';

/**
 * Makes repeated requests safe. For sends, the key is committed together with the messages
 * (accept-store.ts), and this file only looks up the stored result. For every other POST the key
 * is acquired first, then the work is done, and the result is stored encrypted, because it may
 * contain a secret. A result is text that only its writer understands.
 */

export interface IdempotencyRequest {
  workspaceId: string;
  mode: Mode;
  key: string;
  /** See Idempotency.hashRequest. */
  requestHash: string;
}

/** A first request that never finished, because its node died, blocks its key for this long. */
const RUNNING_MAX_MS = 60_000;

export class Idempotency {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #encryptor: Encryptor;
  /** Always as long as a digest, so that what follows cannot be mistaken for a part of it. */
  readonly #secret: string;
  /**
   * Keys in use in this process, by mode and workspace. Joining the three into one string would
   * cost every send.
   */
  readonly #inProgress = {
    live: new Map<string, Set<string>>(),
    test: new Map<string, Set<string>>(),
  };

  constructor(parts: { pool: Pool; clock: Clock; encryptor: Encryptor; hmac: Hmac }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#encryptor = parts.encryptor;
    this.#secret = parts.hmac(Buffer.from('idempotency')).toString('hex');
  }

  /**
   * A hash over method, path and body, in hex, that does not depend on whitespace and field order. It is
   * stored for a day and the request may contain a password or a one-time code, so it is keyed: it must
   * not help to guess them. It is a plain hash over secret and text, because every send needs it: an
   * HMAC with its buffers cost 8% of the sends per second.
   */
  hashRequest(method: string, path: string, body: unknown): string {
    return hash('sha256', this.#secret + canonicalRequest(method, path, body), 'hex');
  }

  /** Rejects a key that this process is working on. Every `begin` needs an `end`. */
  begin({ workspaceId, mode, key }: IdempotencyRequest): void {
    const running = this.#inProgress[mode].get(workspaceId);
    if (running === undefined) this.#inProgress[mode].set(workspaceId, new Set([key]));
    else if (running.has(key)) throw inProgress();
    else running.add(key);
  }

  end({ workspaceId, mode, key }: IdempotencyRequest): void {
    const running = this.#inProgress[mode].get(workspaceId);
    running?.delete(key);
    if (running?.size === 0) this.#inProgress[mode].delete(workspaceId);
  }

  /**
   * The stored result for this key, if there is one. Rejects a key that was used with another
   * request.
   */
  async findResult(request: IdempotencyRequest): Promise<string | undefined> {
    const row = await findKeyRow(this.#pool, request, this.#clock.now());
    return row && this.#resultOf(row, request);
  }

  /** For POSTs other than sends: acquires the key, does the work and stores its result. */
  async once(
    request: IdempotencyRequest,
    work: () => Promise<string>,
  ): Promise<{ result: string; replayed: boolean }> {
    this.begin(request);
    try {
      const nowMs = this.#clock.now();
      const existing = await acquireKey(this.#pool, request, nowMs, RUNNING_MAX_MS);
      if (existing) return { result: this.#resultOf(existing, request), replayed: true };
      return { result: await this.#runFirst(request, work), replayed: false };
    } finally {
      this.end(request);
    }
  }

  async #runFirst(request: IdempotencyRequest, work: () => Promise<string>): Promise<string> {
    const result = await work().catch(async (error: unknown) => {
      // A rejected request changed nothing, so the key is released for a corrected one.
      await releaseKey(this.#pool, request);
      throw error;
    });
    const encrypted = this.#encryptor.encrypt(Buffer.from(result));
    // The work is done: an error would say that it was not, and cause it to be repeated.
    await completeKey(this.#pool, request, encrypted).catch((error: unknown) => {
      if (!isConnectionError(error)) throw error;
    });
    return result;
  }

  #resultOf(row: IdempotencyKeyRow, request: IdempotencyRequest): string {
    if (row.result === null) throw inProgress();
    if (row.requestHash !== request.requestHash) {
      throw new RefusedError(
        'idempotency_key_reused',
        'This Idempotency-Key was used with a different request.',
      );
    }
    const result = row.encrypted ? this.#encryptor.decrypt(row.result) : row.result;
    return result.toString();
  }
}

function inProgress(): RefusedError {
  return new RefusedError(
    'idempotency_key_in_progress',
    'The first request with this Idempotency-Key is still in progress. Try again in a moment.',
    { retryAfterSeconds: 1 },
  );
}

/** Two requests with the same text are the same request. */
export function canonicalRequest(method: string, path: string, body: unknown): string {
  return `${method} ${path}\n${canonicalJson(body)}`;
}

/**
 * Keys are sorted. Text is prefixed with its length, which is as unambiguous as quoting and
 * cheaper.
 */
function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return `${value.length}:${value}`;
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  let text = '{';
  for (const key of Object.keys(object).sort())
    text += `${key.length}:${key}=${canonicalJson(object[key])},`;
  return `${text}}`;
}
