import { isTransientError } from '../db/connections/database-errors.ts';
import {
  RetryingWriter,
  type RetryingWriterOptions,
  WriterStoppedError,
} from '../db/connections/retrying-writer.ts';
import { GroupCommit } from '../lib/scheduling/group-commit.ts';

/**
 * Writes results in group commits. While the database is unavailable they are kept and retried: a
 * result is known only once, and losing it would send twice. Meanwhile `stalled` keeps the owner
 * from starting anything new, which bounds how many results wait.
 */
export class ResultRecorder<Result> {
  readonly #parts: ResultRecorderParts<Result>;
  readonly #groups: GroupCommit<Result, boolean>;
  readonly #writes: RetryingWriter;

  constructor(parts: ResultRecorderParts<Result>) {
    this.#parts = parts;
    this.#writes = new RetryingWriter(parts);
    this.#groups = new GroupCommit<Result, boolean>({
      commit: (results) => this.#commit(results),
      isItemError: (error) => !(error instanceof WriterStoppedError),
      groupItemsMax: parts.groupMax,
      groupBytesMax: GROUP_BYTES_MAX,
      // The next group collects while one is written: larger groups save more than a second writer
      // gains.
      groupsInFlightMax: 1,
      spacingMs: parts.spacingMs ?? SPACING_MS,
      // The owner bounds the waiting results by what it has in flight.
      waitingItemsMax: Number.POSITIVE_INFINITY,
      waitingBytesMax: Number.POSITIVE_INFINITY,
    });
  }

  get stalled(): boolean {
    return this.#writes.stalled;
  }

  /** True once committed; false when the lease was lost and nothing was written. */
  record(result: Result, bytes = 0): Promise<boolean> {
    return this.#groups.add(result, bytes);
  }

  /** Resolves when everything is written, or when the deadline has passed. */
  async finish(deadlineMs: number): Promise<void> {
    const cancelDeadline = this.#writes.abortAfter(deadlineMs);
    await this.#groups.drained();
    cancelDeadline();
  }

  #commit(results: Result[]): Promise<boolean[]> {
    return this.#writes.run(results.length, async (isRetry) => {
      const written = await this.#write(results);
      if (!isRetry) return written;
      const writtenBefore = (await this.#parts.findWritten?.(results)) ?? [];
      return written.map((now, n) => now || writtenBefore[n] === true);
    });
  }

  /**
   * A result that the database rejects (for instance text that it cannot store) is written without
   * its text: losing that is better than sending again forever.
   */
  async #write(results: Result[]): Promise<boolean[]> {
    const { write, withoutText, log } = this.#parts;
    try {
      return await write(results);
    } catch (error) {
      if (!withoutText || results.length > 1 || isTransientError(error)) throw error;
      log.error({ err: error }, 'result rejected, writing it without its text');
      return write(results.map(withoutText));
    }
  }
}

export interface ResultRecorderParts<Result> extends RetryingWriterOptions {
  /** Writes results in one commit; returns for each whether its lease still held. */
  write: (results: readonly Result[]) => Promise<boolean[]>;
  /** Which results an earlier try has committed although its response was lost. */
  findWritten?: (results: readonly Result[]) => Promise<boolean[]>;
  withoutText?: (result: Result) => Result;
  groupMax: number;
  /** How long results wait for others under load, if not the default. */
  spacingMs?: number;
}

const GROUP_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Nothing waits for a result, and each commit costs the database as much as seven rows in it. Under
 * load, results wait this long for others; a single one is written at once.
 */
const SPACING_MS = 20;
