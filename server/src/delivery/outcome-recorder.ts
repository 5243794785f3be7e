import { isTransientError } from '../db/database-errors.ts';
import {
  RetryingWriter,
  type RetryingWriterOptions,
  WriterStoppedError,
} from '../db/retrying-writer.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { DeliveryOutcome } from './delivery.ts';

/**
 * Writes outcomes in group commits. While the database is unavailable they are kept and retried: an
 * outcome is known only once, and losing it would send the mail twice. Meanwhile `stalled` keeps
 * the engine from starting anything new, which bounds how many outcomes wait.
 */
export class OutcomeRecorder {
  readonly #parts: OutcomeRecorderParts;
  readonly #groups: GroupCommit<DeliveryOutcome, boolean>;
  readonly #writes: RetryingWriter;

  constructor(parts: OutcomeRecorderParts) {
    this.#parts = parts;
    this.#writes = new RetryingWriter({ ...parts, what: 'results' });
    this.#groups = new GroupCommit<DeliveryOutcome, boolean>({
      commit: (outcomes) => this.#commit(outcomes),
      isItemError: (error) => !(error instanceof WriterStoppedError),
      groupItemsMax: 500,
      groupBytesMax: Number.POSITIVE_INFINITY,
      // The next group collects while one is written: larger groups save more than a second writer
      // gains.
      groupsInFlightMax: 1,
      spacingMs: SPACING_MS,
      // The engine bounds the waiting outcomes by its transactions in flight.
      waitingItemsMax: Number.POSITIVE_INFINITY,
      waitingBytesMax: Number.POSITIVE_INFINITY,
    });
  }

  get stalled(): boolean {
    return this.#writes.stalled;
  }

  /** True once committed; false when the lease was lost and nothing was written. */
  record(outcome: DeliveryOutcome): Promise<boolean> {
    return this.#groups.add(outcome, 0);
  }

  /** Resolves when everything is written, or when the deadline has passed. */
  async finish(deadlineMs: number): Promise<void> {
    const cancelDeadline = this.#writes.abortAfter(deadlineMs);
    await this.#groups.drained();
    cancelDeadline();
  }

  #commit(outcomes: DeliveryOutcome[]): Promise<boolean[]> {
    return this.#writes.run(outcomes.length, async (again) => {
      const written = await this.#write(outcomes);
      if (!again) return written;
      const writtenBefore = await this.#parts.findWritten(outcomes);
      return written.map((now, n) => now || writtenBefore[n] === true);
    });
  }

  /**
   * An outcome that the database rejects (for instance text that it cannot store) is written
   * without its text: losing the transcript is better than sending the mail again forever.
   */
  async #write(outcomes: DeliveryOutcome[]): Promise<boolean[]> {
    try {
      return await this.#parts.write(outcomes);
    } catch (error) {
      if (outcomes.length > 1 || isTransientError(error)) throw error;
      this.#parts.log.error({ err: error }, 'outcome rejected, writing it without its text');
      return this.#parts.write(outcomes.map(withoutText));
    }
  }
}

export interface OutcomeRecorderParts extends Omit<RetryingWriterOptions, 'what'> {
  write: (outcomes: readonly DeliveryOutcome[]) => Promise<boolean[]>;
  /** Which outcomes an earlier try has committed although its response was lost. */
  findWritten: (outcomes: readonly DeliveryOutcome[]) => Promise<boolean[]>;
}

/**
 * Nothing waits for an outcome, and each commit costs the database as much as seven rows in it.
 * Under load, outcomes wait this long for others; a single one is written at once.
 */
const SPACING_MS = 20;

function withoutText(outcome: DeliveryOutcome): DeliveryOutcome {
  const { attempt, smtp } = outcome;
  const bare = { ...outcome, smtp: smtp && { ...smtp, text: '' } };
  return attempt ? { ...bare, attempt: { ...attempt, transcript: null } } : bare;
}
