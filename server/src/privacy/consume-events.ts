import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { silentLog } from '../lib/log.ts';
import { StatsAggregator } from '../stats/stats-aggregator.ts';
import { fanOut } from '../webhooks/fan-out-store.ts';

const BATCH_SIZE = 1_000;
const NOTHING = {
  total: 0,
  defaultPerEndpoint: 0,
  perEndpoint: [],
  defaultPerWorkspace: 0,
  perWorkspace: [],
};

/** Does what running servers do, or would do: webhooks are queued, and events counted. */
export async function consumeEvents(pool: Pool, clock: Clock): Promise<void> {
  const nowMs = clock.now();
  const terms = { nowMs, leaseEndsAtMs: nowMs, lease: 0 };
  while ((await fanOut(pool, BATCH_SIZE, NOTHING, terms)).seen > 0);
  const statistics = new StatsAggregator({ pool, clock, log: silentLog });
  while (await statistics.aggregateNext());
}
