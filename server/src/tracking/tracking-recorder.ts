import { isSerializationFailure } from '../db/connections/database-errors.ts';
import type { Pool } from '../db/connections/pool.ts';
import { uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { GroupCommit, GroupCommitFullError } from '../lib/scheduling/group-commit.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { TrackedMessage } from './tracking-links.ts';
import { recordHits, type TrackingHit } from './tracking-store.ts';

/**
 * Turns opens and clicks into events, many in one commit. Tracking requests never wait for it. When
 * more arrive than can be written, the surplus is dropped: a redirect that works matters more than
 * a complete count.
 */
export interface TrackingRecorderParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Called after events were appended. */
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
      commit: async (hits) => {
        const written = await this.#writeHits(hits);
        if (written > 0) parts.onEventsAppended();
        return hits.map(() => undefined);
      },
      isItemError: () => false,
      groupItemsMax: 200,
      groupBytesMax: 1024 * 1024,
      groupsInFlightMax: 1,
      spacingMs: SPACING_MS,
      waitingItemsMax: QUEUED_MAX,
      waitingBytesMax: 4 * 1024 * 1024,
    });
  }

  /** `url` is the target of a click; undefined for an open. */
  record(message: TrackedMessage, request: { machine: boolean; url?: string }): void {
    const atMs = this.#parts.clock.now();
    const hit: TrackingHit = { ...message, eventId: uuidv7(atMs), atMs, url: null, ...request };
    try {
      this.#groups
        .add(hit, 300 + (hit.url?.length ?? 0))
        .catch((error: unknown) =>
          this.#parts.log.warn({ err: error }, 'failed to record opens and clicks'),
        );
    } catch (error) {
      if (!(error instanceof GroupCommitFullError)) throw error;
    }
  }

  async #writeHits(hits: readonly TrackingHit[]): Promise<number> {
    for (let tries = 1; ; tries++) {
      try {
        return await recordHits(this.#parts.pool, hits);
      } catch (error) {
        if (!isSerializationFailure(error) || tries === ATTEMPTS_MAX) throw error;
      }
    }
  }

  drained(): Promise<void> {
    return this.#groups.drained();
  }
}
