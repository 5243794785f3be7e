import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from '../db/connections/pool.ts';
import type { EventChunk } from '../events/event-chunk-store.ts';
import { type CountBucket, CountBuckets } from './count-buckets.ts';
import { type AppendedRow, appendedRow } from './counts-row.ts';
import { writeCountsOfChunks } from './stats-store.ts';

/**
 * Counts of several chunks of the event log that are written together, so that a workspace which sends every
 * few seconds appends one row for several messages. If the process dies, the chunks are counted again.
 */
export class HeldCounts {
  readonly sinceMs: number;
  readonly #chunks: EventChunk[] = [];
  readonly #minutes = new CountBuckets();

  constructor(nowMs: number) {
    this.sinceMs = nowMs;
  }

  get rows(): number {
    return this.#minutes.size;
  }

  add(chunk: EventChunk, minutes: readonly CountBucket[]): void {
    this.#chunks.push(chunk);
    for (const minute of minutes) this.#minutes.add(minute);
  }

  /**
   * Returns what was written: nothing if another process has taken over one of the chunks. The others are
   * then taken over too, later.
   */
  async write(pool: Pool): Promise<readonly CountBucket[]> {
    const minutes = this.#minutes.all();
    const rows: AppendedRow[] = [];
    for (const minute of minutes) {
      // Thousands of rows in one turn of the event loop would delay requests.
      if (rows.length % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn();
      rows.push(appendedRow(minute));
    }
    return (await writeCountsOfChunks(pool, this.#chunks, rows)) ? minutes : [];
  }
}

const ROWS_PER_TURN = 200;
