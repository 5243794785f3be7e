import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { dropExpired, ensurePartitions, type Retention } from './partitions.ts';
import type { Pool } from './pool.ts';
import { timeToForgetBy } from './time-to-forget-by.ts';

/** Makes partitions ahead and drops expired ones, now and every hour; any number of nodes may. */
export interface Upkeep extends AsyncDisposable {
  stop(): Promise<void>;
}

export interface UpkeepOptions {
  pool: Pool;
  clock: Clock;
  log: Log;
  retention: Retention;
}

const HOUR_MS = 3_600_000;
/** A table was busy, or the database away: partitions reach days ahead, there is no hurry. */
const AGAIN_MS = 60_000;

/** Returns after the first round: from then on there is a place for new rows. */
export async function startUpkeep(options: UpkeepOptions): Promise<Upkeep> {
  const { pool, clock, log, retention } = options;
  await ensurePartitions(pool, clock.now());
  let timer: Timer | undefined;
  let round: Promise<void> = Promise.resolve();
  let stopped = false;

  async function work(): Promise<void> {
    try {
      const made = await ensurePartitions(pool, clock.now());
      const dropped = await dropOld();
      if (made.length + dropped.length > 0) log.info({ made, dropped }, 'partitions kept up');
      plan(HOUR_MS);
    } catch (error) {
      if (!stopped) log.warn({ err: error }, 'partitions could not be kept up: trying again');
      plan(AGAIN_MS);
    }
  }

  async function dropOld(): Promise<string[]> {
    const time = await timeToForgetBy(pool, clock.now());
    if ('nowMs' in time) return dropExpired(pool, time.nowMs, retention);
    log.warn(
      { last_time: new Date(time.seenAtMs).toISOString() },
      'the clock is far ahead of the time that the database was last used: nothing is deleted for three days, so that it can be set right',
    );
    return [];
  }

  function plan(delayMs: number): void {
    if (stopped) return;
    timer = clock.after(delayMs, () => {
      round = work();
    });
  }

  async function stop(): Promise<void> {
    stopped = true;
    timer?.cancel();
    await round;
  }

  plan(0);
  return { stop, [Symbol.asyncDispose]: stop };
}
