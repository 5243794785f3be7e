import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { dropExpired, ensurePartitions, type Retention } from './partitions.ts';
import type { Pool } from './pool.ts';
import { checkRetentionClock } from './retention-clock.ts';

/** Creates partitions ahead and drops expired ones, at startup and every hour, on every node. */
export interface PartitionMaintenance extends AsyncDisposable {
  stop(): Promise<void>;
}

export interface PartitionMaintenanceOptions {
  pool: Pool;
  clock: Clock;
  log: Log;
  retention: Retention;
}

const HOUR_MS = 3_600_000;
/** After a lock timeout or a lost connection. Partitions exist days ahead, so there is no hurry. */
const RETRY_MS = 60_000;

/** Resolves when partitions exist for new rows. */
export async function startPartitionMaintenance(
  options: PartitionMaintenanceOptions,
): Promise<PartitionMaintenance> {
  const { pool, clock, log, retention } = options;
  await ensurePartitions(pool, clock.now());
  let timer: Timer | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;

  async function maintain(): Promise<void> {
    try {
      const created = await ensurePartitions(pool, clock.now());
      const dropped = await dropOld();
      if (created.length + dropped.length > 0) {
        log.info({ created, dropped }, 'partitions updated');
      }
      schedule(HOUR_MS);
    } catch (error) {
      if (!stopped) log.warn({ err: error }, 'partition maintenance failed: retrying');
      schedule(RETRY_MS);
    }
  }

  async function dropOld(): Promise<string[]> {
    const time = await checkRetentionClock(pool, clock.now());
    if ('nowMs' in time) return dropExpired(pool, time.nowMs, retention);
    log.warn(
      { last_seen_at: new Date(time.lastSeenAtMs).toISOString() },
      'clock jumped far ahead: retention is paused for three days so that it can be corrected',
    );
    return [];
  }

  function schedule(delayMs: number): void {
    if (stopped) return;
    timer = clock.after(delayMs, () => {
      running = maintain();
    });
  }

  async function stop(): Promise<void> {
    stopped = true;
    timer?.cancel();
    await running;
  }

  schedule(0);
  return { stop, [Symbol.asyncDispose]: stop };
}
