import { openPool } from '../../src/db/pool.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createWebhooks } from '../../src/webhooks/create-webhooks.ts';

/** A process that sends webhooks and nothing else, to be killed. Leases are short: see its test. */

const [connectionString = ''] = process.argv.slice(2);
const places = [{ connectionString }] as const;
const { dispatcher } = createWebhooks({
  pool: openPool({ hosts: [...places], log: silentLog, max: 2 }),
  dispatchPool: openPool({ hosts: [...places], log: silentLog, max: 4 }),
  clock: systemClock,
  log: silentLog,
  secretKey: Buffer.alloc(32, 5),
  dnsServers: [],
  settings: {
    allowPrivate: true,
    portAllowed: () => true,
    concurrency: 100,
    endpointConcurrency: 16,
  },
  version: 'test',
  limits: { leaseMs: 22_000 },
});
dispatcher?.start();
process.send?.('begun');
// Its own timers do not hold a process; the parent's death ends it.
setInterval(() => {}, 1_000);
process.on('disconnect', () => process.exit(0));
