import { hash } from 'node:crypto';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { isConnectionError } from '../../db/database-errors.ts';
import type { Pool } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import type { Hmac } from '../../lib/hmac.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import {
  acquireKey,
  completeKey,
  findKeyRow,
  type IdempotencyKeyRow,
  releaseKey,
} from './idempotency-store.ts';

/**
 * Repeating a request safely. For sends the key is committed together with the messages
 * (accept-store.ts) and this file only finds the first answer again. For every other POST the key
 * is taken first, the work is done, and the answer is kept, sealed, because it may hold a secret.
 */

export interface IdempotencyRequest {
  workspaceId: string;
  mode: Mode;
  key: string;
  /** SHA-256 over method, path and body, hex. */
  requestHash: string;
}

export interface StoredResponse {
  status: number;
  body: string;
}

/** A first request that never finished (its node died) blocks its key for this long. */
const RUNNING_MAX_MS = 60_000;

export class Idempotency {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #encryptor: Encryptor;
  /** As long as a digest, always: what follows it cannot be mistaken for a part of it. */
  readonly #secret: string;
  /** Keys at work in this process, by mode and workspace: joining the three would cost every send. */
  readonly #inProgress = {
    live: new Map<string, Set<string>>(),
    test: new Map<string, Set<string>>(),
  };

  constructor(parts: { pool: Pool; clock: Clock; encryptor: Encryptor; hmac: Hmac }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#encryptor = parts.encryptor;
    this.#secret = parts.hmac(Buffer.from('kept')).toString('hex');
  }

  /**
   * What is stored of a request for a day. It may hold a password or a one-time code, and must be of
   * no use for guessing it: a hash that only we can make. One over two digests as text, for every
   * send needs it: as an HMAC, with its buffers, it took 8 of 100 sends a second.
   */
  storedHash(requestHash: string): string {
    return hash('sha256', this.#secret + requestHash, 'hex');
  }

  /** Refuses a key that this process works on right now. Whoever began must end. */
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

  /** The first answer to this key, if there is one; refuses the key when it belongs to another body. */
  async findResponse(request: IdempotencyRequest): Promise<StoredResponse | undefined> {
    const row = await findKeyRow(this.#pool, request, this.#clock.now());
    return row && this.#responseOf(row, request);
  }

  /** For POSTs other than sends: takes the key, works, keeps the answer. */
  async once(
    request: IdempotencyRequest,
    work: () => Promise<StoredResponse>,
  ): Promise<{ response: StoredResponse; replayed: boolean }> {
    this.begin(request);
    try {
      const nowMs = this.#clock.now();
      const stored = { ...request, requestHash: this.storedHash(request.requestHash) };
      const existing = await acquireKey(this.#pool, stored, nowMs, RUNNING_MAX_MS);
      if (existing) return { response: this.#responseOf(existing, request), replayed: true };
      return { response: await this.#runFirst(request, work), replayed: false };
    } finally {
      this.end(request);
    }
  }

  async #runFirst(
    request: IdempotencyRequest,
    work: () => Promise<StoredResponse>,
  ): Promise<StoredResponse> {
    const response = await work().catch(async (error: unknown) => {
      // What was refused changed nothing: the key is free for a corrected request.
      await releaseKey(this.#pool, request);
      throw error;
    });
    const encrypted = this.#encryptor.encrypt(Buffer.from(response.body));
    // It is done: a refusal would say that nothing was, and have it done again.
    await completeKey(this.#pool, request, response.status, encrypted).catch((error: unknown) => {
      if (!isConnectionError(error)) throw error;
    });
    return response;
  }

  #responseOf(row: IdempotencyKeyRow, request: IdempotencyRequest): StoredResponse {
    if (row.status === null) throw inProgress();
    // Until a day after an upgrade there are rows from before it, with the hash itself.
    const { requestHash } = request;
    if (row.requestHash !== this.storedHash(requestHash) && row.requestHash !== requestHash) {
      throw new RefusedError(
        'idempotency_key_reused',
        'This Idempotency-Key was used with a different request.',
      );
    }
    if (row.body === null) throw inProgress();
    const body = row.encrypted ? this.#encryptor.decrypt(row.body) : row.body;
    return { status: row.status, body: body.toString() };
  }
}

function inProgress(): RefusedError {
  return new RefusedError(
    'idempotency_key_in_progress',
    'The first request with this Idempotency-Key is still running. Try again in a moment.',
    { retryAfterSeconds: 1 },
  );
}

/** The same request in other spacing or field order is the same request. */
export function hashRequest(method: string, path: string, body: unknown): string {
  return hash('sha256', `${method} ${path}\n${canonicalJson(body)}`, 'hex');
}

/** Keys in order; text with its length before it, which is as unambiguous as quoting and cheaper. */
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
