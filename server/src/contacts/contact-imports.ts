import { createHash } from 'node:crypto';
import type { TenantScope } from '../accounts/tenant-scope.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import { isConnectionError, isSerializationFailure } from '../db/connections/database-errors.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { CountedQuota, QuotaReservation } from '../quotas/counted-quota.ts';
import type { ContactSubscriptions } from './contact-subscriptions.ts';
import { applyLines, BatchConflictError } from './import-batch.ts';
import { readLines, readUploadHead } from './import-lines.ts';
import {
  advanceImport,
  CHUNK_BYTES,
  type ContactImport,
  claimImport,
  countOpenImports,
  deleteExpiredImports,
  deleteImport,
  findImport,
  insertChunk,
  insertFailures,
  insertImport,
  listFailures,
  queueImport,
  readWindow,
  recordBatchFailure,
} from './import-store.ts';

/**
 * Bulk imports. An upload is stored in chunks as it arrives, with backpressure. When it is complete
 * the request is answered, and the import runs in batches. Each batch is one commit of its
 * contacts, its failures and the cursor, so no line is lost or half done: after a crash, this node
 * or another continues at the cursor.
 */

export interface ImportLimits {
  uploadBytesMax: number;
  /** Imports of one workspace and mode that may be open at the same time. */
  openMax: number;
}

/** An upload is streamed to the database, so it may be larger than a request body in memory. */
const UPLOAD_SIZE_FACTOR = 8;
const OPEN_IMPORTS_MAX = 10;

export function importLimits(bodyBytesMax: number): ImportLimits {
  return { uploadBytesMax: UPLOAD_SIZE_FACTOR * bodyBytesMax, openMax: OPEN_IMPORTS_MAX };
}

export interface Upload {
  /** SHA-256 of all bytes, in hex, to recognize a repeated upload. */
  hash: string;
  /** Queues the import. */
  start(): Promise<ContactImport>;
  discard(): Promise<void>;
}

const LINES_MAX = 500;
/** A window must be larger than the longest line, or a batch could not get past it. */
const WINDOW_CHUNKS = 4;
const BATCH_FAILURES_MAX = 5;
const CONFLICTS_MAX = 20;
const UPLOADING_MAX_MS = 2 * 60 * 60 * 1000;
const REPORT_KEPT_MS = 30 * 24 * 60 * 60 * 1000;

export class ContactImports {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: ImportLimits;
  readonly #quota: CountedQuota | undefined;
  readonly #subscriptions: ContactSubscriptions;
  #working: Promise<void> | undefined;
  /** Set when work was requested since the last claim, which may have been too early to see it. */
  #workRequested = false;
  #stopped = false;

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    log: Log;
    limits: ImportLimits;
    subscriptions: ContactSubscriptions;
    contactQuota?: CountedQuota;
  }) {
    this.#subscriptions = parts.subscriptions;
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#limits = parts.limits;
    this.#quota = parts.contactQuota;
  }

  /** Stores an upload. An unreadable file is rejected here and leaves nothing behind. */
  async receive(
    owner: TenantScope & { actor: string },
    kind: 'ndjson' | 'csv',
    stream: AsyncIterable<Buffer>,
  ): Promise<Upload> {
    const scope = { workspaceId: owner.workspaceId, mode: owner.mode };
    await this.#checkOpenImports(this.#pool, scope);
    const nowMs = this.#clock.now();
    const id = uuidv7(nowMs);
    const hash = createHash('sha256');
    let bytes = 0;
    let ordinal = 0;
    const store = async (chunk: Buffer, atEnd: boolean): Promise<void> => {
      if (ordinal === 0) {
        const head = readUploadHead(kind, chunk, atEnd);
        const upload = { ...scope, id, ...head, createdBy: owner.actor, createdAtMs: nowMs };
        await inTransaction(this.#pool, async (client) => {
          // Checked again under the lock: concurrent uploads all passed the first check.
          await lockForTransaction(client, 'imports', scope.workspaceId);
          await this.#checkOpenImports(client, scope);
          await insertImport(client, upload);
        });
      }
      if (chunk.length > 0) await insertChunk(this.#pool, scope, id, ordinal, chunk);
      ordinal += 1;
    };
    const discard = () => deleteImport(this.#pool, scope, id);
    try {
      for await (const { chunk, last } of inChunks(this.#limitSize(stream))) {
        hash.update(chunk);
        bytes += chunk.length;
        await store(chunk, last);
      }
    } catch (error) {
      // If the database is unreachable, the sweep deletes what is left.
      await discard().catch(() => {});
      throw error;
    }
    return { hash: hash.digest('hex'), start: () => this.#start(scope, id, bytes), discard };
  }

  /** The import with one page of its failed lines. */
  async report(
    scope: TenantScope,
    id: string,
    page: { afterLine: number; limit: number },
  ): Promise<{ job: ContactImport; failures: Awaited<ReturnType<typeof listFailures>> }> {
    const job = await findImport(this.#pool, scope, id);
    if (!job) throw new RefusedError('not_found', 'There is no import with this id.');
    return { job, failures: await listFailures(this.#pool, scope, id, page) };
  }

  /** Works until no import is left. Called when one is added, and periodically. */
  work(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#workRequested = true;
    this.#working ??= this.#workUntilDone().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  /** Finishes the current batch. The cursor says where to continue. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#working?.catch(() => {});
  }

  async sweep(): Promise<void> {
    const nowMs = this.#clock.now();
    await deleteExpiredImports(this.#pool, {
      uploadingBeforeMs: nowMs - UPLOADING_MAX_MS,
      finishedBeforeMs: nowMs - REPORT_KEPT_MS,
    });
  }

  async #checkOpenImports(db: Queryable, scope: TenantScope): Promise<void> {
    const { openMax } = this.#limits;
    if ((await countOpenImports(db, scope)) < openMax) return;
    const detail = `At most ${openMax} imports can run at the same time. Wait for one to finish.`;
    throw new RefusedError('quota_exceeded', detail, { retryAfterSeconds: 10 });
  }

  async #start(scope: TenantScope, id: string, bytes: number): Promise<ContactImport> {
    const job = await queueImport(this.#pool, scope, id, bytes, this.#clock.now());
    if (!job) throw new RefusedError('conflict', 'The upload took too long and was discarded.');
    this.work().catch((error: unknown) =>
      this.#log.warn({ err: error }, 'import work failed; will retry'),
    );
    return job;
  }

  async *#limitSize(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const piece of stream) {
      bytes += piece.length;
      if (bytes > this.#limits.uploadBytesMax) {
        const mebibytes = Math.floor(this.#limits.uploadBytesMax / 1024 ** 2);
        const detail = `An import can have at most ${mebibytes} MiB. Split the file.`;
        throw new RefusedError('body_too_large', detail);
      }
      yield piece;
    }
  }

  async #workUntilDone(): Promise<void> {
    for (let conflicts = 0; this.#workRequested && !this.#stopped; ) {
      try {
        this.#workRequested = false;
        if (await this.#importBatch()) this.#workRequested = true;
        conflicts = 0;
      } catch (error) {
        conflicts += 1;
        if (!isConflict(error) || conflicts > CONFLICTS_MAX) throw error;
        this.#workRequested = true;
      }
    }
  }

  /** Runs one batch of the import that has waited longest. Returns false when there is none. */
  async #importBatch(): Promise<boolean> {
    let job: ContactImport | undefined;
    let reservation: QuotaReservation | undefined;
    let created = 0;
    try {
      return await inTransaction(this.#pool, async (client) => {
        job = await claimImport(client);
        if (!job) return false;
        const nowMs = this.#clock.now();
        const { window, atEnd } = await readWindow(client, job, WINDOW_CHUNKS);
        const bounds = { atEnd, linesMax: LINES_MAX };
        const { lines, next } = readLines(job.format, window, job.cursor, bounds);
        if (next.bytes === job.cursor.bytes && !atEnd) {
          throw new Error('Broken invariant: every batch of an import makes progress');
        }
        if (job.mode === 'live') {
          reservation = await this.#quota?.reserve(job.workspaceId, lines.length);
        }
        const { counts, failures } = await applyLines(
          client,
          job,
          lines,
          this.#subscriptions,
          nowMs,
          reservation?.granted,
        );
        await insertFailures(client, job, failures);
        await advanceImport(client, job, next, counts, nowMs);
        created = counts.created;
        return true;
      });
    } catch (error) {
      created = 0;
      if (!job || isConflict(error) || isConnectionError(error)) throw error;
      // An internal error. Other imports continue; this one is retried a few times.
      const id = encodeId('imp', job.id);
      this.#log.error({ err: error, import: id }, 'import batch failed');
      await recordBatchFailure(this.#pool, job, BATCH_FAILURES_MAX, this.#clock.now());
      return true;
    } finally {
      reservation?.settle(created);
    }
  }
}

/** The public form of an import. */
export function publicImport(job: ContactImport) {
  return {
    id: encodeId('imp', job.id),
    status: job.status,
    mode: job.mode,
    format: job.format.kind,
    bytes_total: job.bytesTotal,
    bytes_done: Math.min(job.cursor.bytes, job.bytesTotal),
    lines: job.cursor.lines,
    ...job.counts,
    created_at: new Date(job.createdAtMs).toISOString(),
    finished_at: job.finishedAtMs === null ? null : new Date(job.finishedAtMs).toISOString(),
  };
}

/** Another writer interfered: it created one of the contacts, or won a deadlock. */
function isConflict(error: unknown): boolean {
  return error instanceof BatchConflictError || isSerializationFailure(error);
}

/**
 * Chunks of exactly CHUNK_BYTES, except the last, which may be empty. All share one buffer: a chunk
 * must be stored before the next one is requested.
 */
async function* inChunks(
  stream: AsyncIterable<Buffer>,
): AsyncGenerator<{ chunk: Buffer; last: boolean }> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let used = 0;
  for await (const piece of stream) {
    for (let at = 0; at < piece.length; ) {
      // Yielded only when more data follows, so that the last chunk is known as such.
      if (used === CHUNK_BYTES) {
        yield { chunk: buffer, last: false };
        used = 0;
      }
      const copied = piece.copy(buffer, used, at);
      used += copied;
      at += copied;
    }
  }
  yield { chunk: buffer.subarray(0, used), last: true };
}
