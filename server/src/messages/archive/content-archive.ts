import type { TenantScope } from '../../accounts/tenant-scope.ts';
import { trySessionLock } from '../../db/advisory-lock.ts';
import { inTransaction, type Pool } from '../../db/connections/pool.ts';
import { LOCKS } from '../../db/lock-numbers.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Log } from '../../lib/log.ts';
import { BucketError, type ObjectBucket } from '../../lib/object-bucket.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { MessageContent } from '../content/message-content.ts';
import { findContent as findStored } from '../content/message-content-store.ts';
import { openEntry, sealEntry } from './archive-entry.ts';
import {
  type ArchiveDay,
  deletePack,
  findArchivableDays,
  findEntry,
  findExpiredPacks,
  findUnarchived,
  insertEntries,
  insertPack,
  type NewEntry,
  truncateArchived,
  type UnarchivedContent,
} from './archive-store.ts';

/**
 * Contents of messages, wherever they are: in the database for the first days, and then, if the operator
 * has configured a bucket, in packs there. A whole day is moved at a time, so that the database gets its
 * space back by truncating a partition instead of vacuuming rows.
 */
export interface ContentArchiveParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Undefined if none is configured. */
  bucket: ObjectBucket | undefined;
}

const DAY_MS = 86_400_000;
/** Longer than failed messages can be retried with their original content. */
const ARCHIVE_AFTER_MS = 4 * DAY_MS;
const PACK_BYTES = 8 * 1024 * 1024;
const PACK_ENTRIES_MAX = 1_000;
const EXPIRED_BATCH = 100;

export class ContentArchive {
  readonly #parts: ContentArchiveParts;

  constructor(parts: ContentArchiveParts) {
    this.#parts = parts;
  }

  /** The content of a message; undefined if it is no longer kept. */
  async find(scope: TenantScope, id: string): Promise<MessageContent | undefined> {
    const { pool } = this.#parts;
    return (await findStored(pool, scope, id)) ?? this.readArchived(scope, id);
  }

  /** The content of a message that is in the archive only. */
  async readArchived(scope: TenantScope, id: string): Promise<MessageContent | undefined> {
    const { pool, bucket } = this.#parts;
    const entry = bucket && (await findEntry(pool, { ...scope, id }));
    if (!entry) return undefined;
    let bytes: Buffer | undefined;
    try {
      bytes = await bucket.read(objectName(entry.packId), entry);
    } catch (error) {
      if (!(error instanceof BucketError)) throw error;
      this.#parts.log.warn({ err: error }, 'archived content cannot be read');
      throw new RefusedError(
        'storage_unavailable',
        'The content of this message is in an archive that cannot be reached at the moment.',
        { retryAfterSeconds: 30 },
      );
    }
    // Someone has deleted the object.
    if (!bytes) return undefined;
    return openEntry({ key: entry.key, bytes });
  }

  /** Archives what is due and deletes what has expired. One node at a time. */
  async work(signal: AbortSignal): Promise<void> {
    const { pool, clock, bucket } = this.#parts;
    if (!bucket) return;
    const session = await pool.connect();
    try {
      if (!(await trySessionLock(session, LOCKS.contentArchive))) return;
      for (const day of await findArchivableDays(pool, clock.now() - ARCHIVE_AFTER_MS)) {
        if (signal.aborted) return;
        await this.#archive(bucket, day, signal);
      }
      await this.#deleteExpired(bucket, signal);
    } finally {
      // Closes the session, which releases the lock.
      session.release(true);
    }
  }

  async #archive(bucket: ObjectBucket, day: ArchiveDay, signal: AbortSignal): Promise<void> {
    const { pool, log } = this.#parts;
    let entries = 0;
    let afterId: string | undefined;
    for (;;) {
      const found = await findUnarchived(pool, day, afterId, PACK_ENTRIES_MAX);
      const batch = firstBytes(found, PACK_BYTES);
      if (batch.length === 0) break;
      await this.#writePack(bucket, day, batch);
      entries += batch.length;
      afterId = batch.at(-1)?.id;
      if (signal.aborted) return;
    }
    // Contents that changed meanwhile are left for the next run.
    const isEmpty = await inTransaction(pool, (client) => truncateArchived(client, day));
    log.info({ day: day.name, contents: entries, complete: isEmpty }, 'contents archived');
  }

  async #writePack(
    bucket: ObjectBucket,
    day: ArchiveDay,
    batch: readonly UnarchivedContent[],
  ): Promise<void> {
    const { pool, clock } = this.#parts;
    const entries: NewEntry[] = [];
    const chunks: Buffer[] = [];
    let offset = 0;
    for (const { workspaceId, mode, id, version } of batch) {
      const content = await findStored(pool, { workspaceId, mode }, id);
      if (!content) continue;
      const { key, bytes } = await sealEntry(content);
      entries.push({ workspaceId, mode, id, version, key, offset, length: bytes.length });
      chunks.push(bytes);
      offset += bytes.length;
    }
    if (entries.length === 0) return;
    const id = uuidv7(clock.now());
    await insertPack(pool, { id, day, bytes: offset, nowMs: clock.now() });
    await bucket.put(objectName(id), Buffer.concat(chunks));
    await insertEntries(pool, day, id, entries, clock.now());
  }

  async #deleteExpired(bucket: ObjectBucket, signal: AbortSignal): Promise<void> {
    const { pool, clock } = this.#parts;
    for (;;) {
      const ids = await findExpiredPacks(pool, clock.now() - DAY_MS, EXPIRED_BATCH);
      for (const id of ids) {
        if (signal.aborted) return;
        await bucket.remove(objectName(id));
        await deletePack(pool, id);
      }
      if (ids.length < EXPIRED_BATCH) return;
    }
  }
}

function objectName(packId: string): string {
  return `packs/${packId}`;
}

/** The first contents, up to a number of bytes, but at least one. */
function firstBytes<T extends { bytes: number }>(found: readonly T[], bytesMax: number): T[] {
  let bytes = 0;
  const end = found.findIndex((content, index) => {
    bytes += content.bytes;
    return index > 0 && bytes > bytesMax;
  });
  return end === -1 ? [...found] : found.slice(0, end);
}
