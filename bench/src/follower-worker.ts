import { parentPort, workerData } from 'node:worker_threads';
import { openPool } from '../../server/src/db/connections/pool.ts';
import { disableNonIndexPlans } from '../../server/src/db/schema/index-plans.ts';
import type { EventConsumer } from '../../server/src/events/event-consumer-store.ts';
import { silentLog } from '../../server/src/lib/log.ts';
import { systemClock } from '../../server/src/lib/time/clock.ts';
import { newLease } from '../../server/src/queue/lease.ts';
import { StatsAggregator } from '../../server/src/stats/stats-aggregator.ts';
import { fanOutNextChunk, NO_CAPACITY } from '../../server/src/webhooks/fan-out/fan-out-store.ts';

/** A thread that processes the event log to its end as one of its consumers. See followers.ts. */

const hosts = [{ connectionString: workerData as string }] as const;
const pool = openPool({ hosts, log: silentLog, max: 2 });
const webhookPool = openPool({ hosts, log: silentLog, max: 1 });
disableNonIndexPlans(webhookPool);
const statistics = new StatsAggregator({ pool, clock: systemClock, log: silentLog });

async function fanOutAll(): Promise<void> {
  for (;;) {
    const lease = newLease(1, systemClock.now(), 0);
    if (!(await fanOutNextChunk(webhookPool, 1_000, NO_CAPACITY, lease))?.more) return;
  }
}

async function countAll(): Promise<void> {
  while (await statistics.aggregateNext());
}

parentPort?.on('message', async (consumer: EventConsumer) => {
  await (consumer === 'webhooks' ? fanOutAll() : countAll());
  parentPort?.postMessage('done');
});
