import { isLostRace } from '../db/lost-race.ts';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { GroupCommit, GroupCommitFullError } from '../lib/group-commit.ts';
import { uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import type { TrackedMessage } from './tracking-links.ts';
import { recordHits, type TrackingHit } from './tracking-store.ts';

/**
 * Opens and clicks come in one by one and leave as events, many in one commit. Whoever opened or
 * clicked waits for none of it; when more comes than can be written, the rest is let go, since a
 * count of opens is worth less than a link that leads on.
 */
export interface TrackingRecorderParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Events were appended. */
  onEventsAppended: () => void;
}

const QUEUED_MAX = 5_000;
const SPACING_MS = 100;
const ATTEMPTS_MAX = 5;

export class TrackingRecorder {
  readonly #parts: TrackingRecorderParts;
  readonly #groups: GroupCommit<TrackingHit, undefined>;

  constructor(parts: TrackingRecorderParts) {
    this.#parts = parts;
    this.#groups = new GroupCommit({
      commit: async (visits) => {
        const written = await this.#writeHits(visits);
        if (written > 0) parts.onEventsAppended();
        return visits.map(() => undefined);
      },
      isItemFault: () => false,
      groupItemsMax: 200,
      groupBytesMax: 1024 * 1024,
      groupsInFlightMax: 1,
      spacingMs: SPACING_MS,
      waitingItemsMax: QUEUED_MAX,
      waitingBytesMax: 4 * 1024 * 1024,
    });
  }

  /** `url`: of a click; an open has none. */
  record(message: TrackedMessage, request: { machine: boolean; url?: string }): void {
    const atMs = this.#parts.clock.now();
    const visit: TrackingHit = { ...message, eventId: uuidv7(atMs), atMs, url: null, ...request };
    try {
      this.#groups
        .add(visit, 300 + (visit.url?.length ?? 0))
        .catch((error: unknown) =>
          this.#parts.log.warn({ err: error }, 'opens and clicks could not be recorded'),
        );
    } catch (error) {
      if (!(error instanceof GroupCommitFullError)) throw error;
    }
  }

  async #writeHits(visits: readonly TrackingHit[]): Promise<number> {
    for (let tries = 1; ; tries++) {
      try {
        return await recordHits(this.#parts.pool, visits);
      } catch (error) {
        if (!isLostRace(error) || tries === ATTEMPTS_MAX) throw error;
      }
    }
  }

  drained(): Promise<void> {
    return this.#groups.drained();
  }
}
