import { openPool } from '../../../src/db/connections/pool.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { createWebhooks } from '../../../src/webhooks/create-webhooks.ts';

/** Entry point of a process that only sends webhooks, with short leases; tests kill it. */

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
  baseUrl: 'http://localhost:3000',
  readInboundContent: async () => undefined,
  limits: { leaseMs: 22_000 },
});
dispatcher?.start();
process.send?.('begun');
// Its timers do not keep the process alive; it exits when the parent disconnects.
setInterval(() => {}, 1_000);
process.on('disconnect', () => process.exit(0));
