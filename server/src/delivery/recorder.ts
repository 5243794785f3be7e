import { type Clock, pause } from '../base/clock.ts';
import { GroupCommit } from '../base/group-commit.ts';
import type { Log } from '../base/log.ts';
import { isLostRace } from '../storage/lost-race.ts';
import { isStorageGone } from '../storage/storage-gone.ts';
import type { Outcome } from './delivery.ts';

/**
 * Brings outcomes into storage in shared commits. While the database is gone they stay here and are
 * tried again: a result is known only once, and forgetting it would send the mail a second time.
 * `stalled` tells the engine to put nothing more on the wire meanwhile, which bounds what waits.
 */
export class Recorder {
  readonly #parts: RecorderParts;
  readonly #groups: GroupCommit<Outcome, boolean>;
  readonly #stop = new AbortController();
  #stalledGroups = 0;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#groups = new GroupCommit<Outcome, boolean>({
      commit: (outcomes) => this.#commit(outcomes),
      isItemFault: (error) => !(error instanceof RecorderStoppedError),
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
    return this.#stalledGroups > 0;
  }

  /** True once it is committed; false when the lease was lost and nothing was written. */
  record(outcome: Outcome): Promise<boolean> {
    return this.#groups.add(outcome, 0);
  }

  /** Resolves when all is written, or when the deadline has passed. */
  async finish(deadlineMs: number): Promise<void> {
    const timer = this.#parts.clock.after(deadlineMs, () => this.#stop.abort());
    await this.#groups.drained();
    timer.cancel();
  }

  async #commit(outcomes: Outcome[]): Promise<boolean[]> {
    let waitMs = 50;
    for (let tries = 1; ; tries++) {
      try {
        const written = await this.#write(outcomes);
        if (tries === 1) return written;
        const writtenBefore = await this.#parts.findWritten(outcomes);
        this.#recovered(outcomes.length);
        return written.map((now, n) => now || writtenBefore[n] === true);
      } catch (error) {
        if (!isPassing(error)) {
          if (tries > 1) this.#recovered(0);
          throw error;
        }
        if (tries === 1) {
          this.#stalledGroups += 1;
          this.#parts.onStalled();
          this.#parts.log.warn(
            { err: error, results: outcomes.length },
            'results wait for storage',
          );
        }
      }
      await pause(this.#parts.clock, waitMs, this.#stop.signal);
      if (this.#stop.signal.aborted)
        throw new RecorderStoppedError('stopped before storage came back');
      waitMs = Math.min(waitMs * 2, WAIT_MAX_MS);
    }
  }

  /**
   * A result that the database refuses as it is (say, a text it cannot hold) is written without its
   * words: losing the transcript is better than sending the mail again for ever.
   */
  async #write(outcomes: Outcome[]): Promise<boolean[]> {
    try {
      return await this.#parts.write(outcomes);
    } catch (error) {
      if (outcomes.length > 1 || isPassing(error)) throw error;
      this.#parts.log.error({ err: error }, 'a result was refused: writing it without its words');
      return this.#parts.write(outcomes.map(withoutWords));
    }
  }

  #recovered(results: number): void {
    this.#stalledGroups -= 1;
    if (results > 0) this.#parts.log.info({ results }, 'storage is back: results recorded');
    if (!this.stalled) this.#parts.onRecovered();
  }
}

export interface RecorderParts {
  write: (outcomes: readonly Outcome[]) => Promise<boolean[]>;
  /** Which of them an earlier try has written, whose answer was lost. */
  findWritten: (outcomes: readonly Outcome[]) => Promise<boolean[]>;
  clock: Clock;
  log: Log;
  onStalled: () => void;
  onRecovered: () => void;
}

/**
 * Nobody waits for a result, and each commit costs the database as much as seven rows in it. While
 * mail flows, results wait this long for company; a single one is written at once.
 */
const SPACING_MS = 20;

/** Results are tried again at least this often: see OUTAGE_GRACE_MS in claim-loop.ts. */
export const WAIT_MAX_MS = 1_000;

class RecorderStoppedError extends Error {}

/** Nobody's fault, and gone the next time: no connection, a deadlock, a lock that took too long. */
function isPassing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return isStorageGone(error) || isLostRace(error) || code === '55P03';
}

function withoutWords(outcome: Outcome): Outcome {
  const { attempt, smtp } = outcome;
  const bare = { ...outcome, smtp: smtp && { ...smtp, text: '' } };
  return attempt ? { ...bare, attempt: { ...attempt, transcript: null } } : bare;
}
