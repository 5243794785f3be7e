import type { Log } from '../lib/log.ts';
import { PeriodicTasks } from '../lib/scheduling/periodic-tasks.ts';
import { type Clock, systemClock, type Timer } from '../lib/time/clock.ts';
import type { Pool } from './connections/pool.ts';

/**
 * The time of the database. Nodes that share one compare times with each other: the end of a lease, when
 * mail is due, when it expires. Their own clocks may differ, and may be set while they run.
 *
 * Time is read from a stopwatch, which is never set, so that `now` costs no query. The time of the
 * database is read every few seconds, and the clock is corrected only as far as it is certainly wrong:
 * the response tells the time between the request and the response, whatever the network adds.
 */
export class DatabaseClock implements Clock {
  readonly #pool: Pool;
  readonly #readings: PeriodicTasks;
  #offsetMs: number;

  /** Another thread starts with the offset of the first one; without it, call `synchronize`. */
  constructor({ pool, log, offsetMs }: DatabaseClockParts) {
    this.#pool = pool;
    this.#offsetMs = offsetMs ?? performance.timeOrigin - ORIGIN_MS;
    this.#readings = new PeriodicTasks({ clock: systemClock, log });
    this.#readings.schedule(INTERVAL_MS, 'read the time of the database', () => this.synchronize());
  }

  /** The time of the database minus that of the stopwatch. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  now(): number {
    return Math.floor(stopwatchMs() + this.#offsetMs);
  }

  after(delayMs: number, task: () => void): Timer {
    return systemClock.after(delayMs, task);
  }

  async synchronize(): Promise<void> {
    const sentAtMs = stopwatchMs();
    const { rows } = await this.#pool.query<{ now: number }>('select clock_timestamp() as now');
    const { now: databaseMs } = rows[0] as { now: number };
    this.#offsetMs = correctedOffset(this.#offsetMs, {
      databaseMs,
      sentAtMs,
      receivedAtMs: stopwatchMs(),
    });
  }

  async stop(): Promise<void> {
    await this.#readings.stop();
  }
}

export interface DatabaseClockParts {
  pool: Pool;
  log: Log;
  offsetMs?: number | undefined;
}

const INTERVAL_MS = 5_000;

/** `performance.now` begins with the thread, and `process.hrtime` at the same point in all threads. */
const ORIGIN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

function stopwatchMs(): number {
  return ORIGIN_MS + performance.now();
}

export interface ClockReading {
  /** In whole milliseconds. */
  databaseMs: number;
  /** By the stopwatch. */
  sentAtMs: number;
  receivedAtMs: number;
}

/** The offset closest to the given one with which the reading is possible. */
export function correctedOffset(offsetMs: number, reading: ClockReading): number {
  const { databaseMs, sentAtMs, receivedAtMs } = reading;
  return Math.min(Math.max(offsetMs, databaseMs - receivedAtMs), databaseMs + 1 - sentAtMs);
}
