import {
  isPassing,
  PatientWrites,
  type PatientWritesParts,
  WritesStoppedError,
} from '../db/patient-writes.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { DeliveryOutcome } from './delivery.ts';

/**
 * Brings outcomes into storage in shared commits. While the database is gone they stay here and are
 * tried again: a result is known only once, and forgetting it would send the mail a second time.
 * `stalled` tells the engine to put nothing more on the wire meanwhile, which bounds what waits.
 */
export class OutcomeRecorder {
  readonly #parts: OutcomeRecorderParts;
  readonly #groups: GroupCommit<DeliveryOutcome, boolean>;
  readonly #writes: PatientWrites;

  constructor(parts: OutcomeRecorderParts) {
    this.#parts = parts;
    this.#writes = new PatientWrites({ ...parts, what: 'results' });
    this.#groups = new GroupCommit<DeliveryOutcome, boolean>({
      commit: (outcomes) => this.#commit(outcomes),
      isItemFault: (error) => !(error instanceof WritesStoppedError),
      groupItemsMax: 500,
      groupBytesMax: Number.POSITIVE_INFINITY,
      // While one is written the next gathers: larger groups cost less than a second writer gains.
      groupsInFlightMax: 1,
      spacingMs: SPACING_MS,
      // The engine bounds what waits, by what it lets on the wire.
      waitingItemsMax: Number.POSITIVE_INFINITY,
      waitingBytesMax: Number.POSITIVE_INFINITY,
    });
  }

  get stalled(): boolean {
    return this.#writes.stalled;
  }

  /** True once it is committed; false when the lease was lost and nothing was written. */
  record(outcome: DeliveryOutcome): Promise<boolean> {
    return this.#groups.add(outcome, 0);
  }

  /** Resolves when all is written, or when the deadline has passed. */
  async finish(deadlineMs: number): Promise<void> {
    const goOn = this.#writes.giveUpIn(deadlineMs);
    await this.#groups.drained();
    goOn();
  }

  #commit(outcomes: DeliveryOutcome[]): Promise<boolean[]> {
    return this.#writes.outlast(outcomes.length, async (again) => {
      const written = await this.#write(outcomes);
      if (!again) return written;
      const writtenBefore = await this.#parts.findWritten(outcomes);
      return written.map((now, n) => now || writtenBefore[n] === true);
    });
  }

  /**
   * A result that the database refuses as it is (say, a text it cannot hold) is written without its
   * words: losing the transcript is better than sending the mail again for ever.
   */
  async #write(outcomes: DeliveryOutcome[]): Promise<boolean[]> {
    try {
      return await this.#parts.write(outcomes);
    } catch (error) {
      if (outcomes.length > 1 || isPassing(error)) throw error;
      this.#parts.log.error({ err: error }, 'a result was refused: writing it without its words');
      return this.#parts.write(outcomes.map(withoutText));
    }
  }
}

export interface OutcomeRecorderParts extends Omit<PatientWritesParts, 'what'> {
  write: (outcomes: readonly DeliveryOutcome[]) => Promise<boolean[]>;
  /** Which of them an earlier try has written, whose answer was lost. */
  findWritten: (outcomes: readonly DeliveryOutcome[]) => Promise<boolean[]>;
}

/**
 * Nobody waits for a result, and each commit costs the database as much as seven rows in it. While
 * mail flows, results wait this long for company; a single one is written at once.
 */
const SPACING_MS = 20;

function withoutText(outcome: DeliveryOutcome): DeliveryOutcome {
  const { attempt, smtp } = outcome;
  const bare = { ...outcome, smtp: smtp && { ...smtp, text: '' } };
  return attempt ? { ...bare, attempt: { ...attempt, transcript: null } } : bare;
}
