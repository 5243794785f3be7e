import type { Pool } from '../db/connections/pool.ts';
import { silentLog } from '../lib/log.ts';
import type { Clock } from '../lib/time/clock.ts';
import { StatsAggregator } from '../stats/stats-aggregator.ts';
import { fanOut, fanOutDueChunk, NO_CAPACITY } from '../webhooks/fan-out/fan-out-store.ts';

const BATCH_SIZE = 1_000;

/** Does what running servers do, or would do: webhooks are queued, and events counted. */
export async function consumeEvents(pool: Pool, clock: Clock): Promise<void> {
  const nowMs = clock.now();
  const terms = { nowMs, leaseEndsAtMs: nowMs, lease: 0 };
  for (;;) {
    const { seen, chunkDue } = await fanOut(pool, BATCH_SIZE, NO_CAPACITY, terms);
    if (chunkDue) await fanOutDueChunk(pool, NO_CAPACITY, terms);
    if (seen === 0 && !chunkDue) break;
  }
  const statistics = new StatsAggregator({ pool, clock, log: silentLog });
  while (await statistics.aggregateNext());
}
