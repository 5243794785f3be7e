import { openPool } from '../../server/src/db/pool.ts';
import { systemClock } from '../../server/src/lib/clock.ts';
import { silentLog } from '../../server/src/lib/log.ts';
import { newLease } from '../../server/src/queue/lease.ts';
import { StatsAggregator } from '../../server/src/stats/stats-aggregator.ts';
import { fanOut } from '../../server/src/webhooks/fan-out-store.ts';
import { cpuByProcess } from './process-usage.ts';
import type { Report } from './results.ts';
import type { WebhookEnvironment } from './webhook-environment.ts';

/**
 * How fast the consumers of the event log can be. Of each, only one runs at a time, however many nodes
 * there are, so the CPU time of an event is the limit of an installation. They run here, over what the
 * server wrote; the server must not have the role that runs them.
 */
export async function benchFollowers(
  report: Report,
  environment: WebhookEnvironment,
): Promise<void> {
  const pool = openPool({
    hosts: [{ connectionString: environment.url }],
    log: silentLog,
    max: 1,
  });
  const statistics = new StatsAggregator({ pool, clock: systemClock, log: silentLog });
  try {
    const { rows } = await environment.client.query('select count(*)::int as n from events');
    const events = rows[0].n;
    await measure('fan-out', async () => {
      const { seen } = await fanOut(pool, 1_000, NOTHING_LEASED, newLease(1, systemClock.now(), 0));
      return seen === 1_000;
    });
    await measure('statistics', () => statistics.aggregateNext());

    async function measure(name: string, next: () => Promise<boolean>): Promise<void> {
      const before = micros();
      while (await next());
      const each = (micros() - before) / events;
      report(`${name}, one consumer`, { 'events/s': 1e6 / each, 'CPU-µs': each });
    }
  } finally {
    await pool.end();
  }

  function micros(): number {
    const { user, system } = process.cpuUsage();
    return user + system + (cpuByProcess(environment)['PostgreSQL backends'] ?? Number.NaN);
  }
}

const NOTHING_LEASED = {
  total: 0,
  defaultPerEndpoint: 0,
  perEndpoint: [],
  defaultPerWorkspace: 0,
  perWorkspace: [],
};
