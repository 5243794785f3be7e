import type { Log } from '../../lib/log.ts';
import type { Clock, Timer } from '../../lib/time/clock.ts';
import type { Pool } from '../connections/pool.ts';
import { checkRetentionClock } from '../retention-clock.ts';
import {
  dropExpired,
  dropFutureOfOtherSpan,
  ensurePartitions,
  partitionedTables,
  type Retention,
} from './partitions.ts';

/** Creates partitions ahead and drops expired ones, at startup and every hour, on every node. */
export interface PartitionMaintenance extends AsyncDisposable {
  stop(): Promise<void>;
}

export interface PartitionMaintenanceOptions {
  pool: Pool;
  clock: Clock;
  log: Log;
  retention: Retention;
  /** Days that a partition of messages covers. */
  partitionDays: number;
  /** Aborts the start. */
  signal?: AbortSignal;
}

const HOUR_MS = 3_600_000;
/** After a lock timeout or a lost connection. Partitions exist days ahead, so there is no hurry. */
const RETRY_MS = 60_000;

/** Resolves when partitions exist for new rows. */
export async function startPartitionMaintenance(
  options: PartitionMaintenanceOptions,
): Promise<PartitionMaintenance> {
  const { pool, clock, log, retention } = options;
  const tables = partitionedTables(options.partitionDays);
  const stopping = new AbortController();
  const { signal = stopping.signal } = options;
  let ensuredAtMs = clock.now();
  const replaced = await dropFutureOfOtherSpan(pool, ensuredAtMs, tables, { log, signal });
  if (replaced.length > 0) log.info({ replaced }, 'PARTITION_DAYS changed: partitions replaced');
  await ensurePartitions(pool, ensuredAtMs, tables, { log, signal });
  const wait = { signal: stopping.signal };
  let timer: Timer | undefined;
  let running: Promise<void> = Promise.resolve();

  async function maintain(): Promise<void> {
    try {
      const created = await createAhead();
      const dropped = await dropOld();
      if (created.length + dropped.length > 0) {
        log.info({ created, dropped }, 'partitions updated');
      }
      schedule(HOUR_MS);
    } catch (error) {
      if (!stopping.signal.aborted)
        log.warn({ err: error }, 'partition maintenance failed: retrying');
      schedule(RETRY_MS);
    }
  }

  /** The first time, the start has just done it. */
  async function createAhead(): Promise<string[]> {
    const nowMs = clock.now();
    if (nowMs - ensuredAtMs < HOUR_MS / 2) return [];
    const created = await ensurePartitions(pool, nowMs, tables, wait);
    ensuredAtMs = nowMs;
    return created;
  }

  async function dropOld(): Promise<string[]> {
    const time = await checkRetentionClock(pool, clock.now());
    if ('nowMs' in time) {
      return dropExpired(pool, time.nowMs, retention, tables, wait);
    }
    log.warn(
      { last_seen_at: new Date(time.lastSeenAtMs).toISOString() },
      'clock jumped far ahead: retention is paused for three days so that it can be corrected',
    );
    return [];
  }

  function schedule(delayMs: number): void {
    if (stopping.signal.aborted) return;
    timer = clock.after(delayMs, () => {
      running = maintain();
    });
  }

  async function stop(): Promise<void> {
    stopping.abort();
    timer?.cancel();
    await running;
  }

  schedule(0);
  return { stop, [Symbol.asyncDispose]: stop };
}
