import { buildLeaseHolder } from '../../../src/bootstrap/build-lease-holder.ts';
import { openPool } from '../../../src/db/connections/pool.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { DELIVERIES } from '../../../src/messages/deliveries/delivery-lease-store.ts';
import { startEngine } from './delivery-engine.ts';
import { liveRoute, unsignedSenders } from './live-route.ts';

/** Entry point of a delivery node process; see delivery-node-process.ts. */
const { url, dns, mxPort, leaseMs, nodeName } = JSON.parse(process.argv[2] ?? '{}') as {
  url: string;
  dns: string;
  mxPort: number;
  leaseMs: number;
  nodeName: string;
};

const hosts = [{ connectionString: url }] as const;
const { holder, close } = buildLeaseHolder(DELIVERIES, {
  exclusive: false,
  hosts: [...hosts],
  pool: openPool({ hosts: [...hosts], log: silentLog, max: 1 }),
  clock: systemClock,
  log: silentLog,
  name: nodeName,
});

const node = startEngine({
  url,
  clock: systemClock,
  live: liveRoute({ clock: systemClock, dns, mxPort, senders: unsignedSenders }),
  limits: { leaseMs },
  nodeName,
  holder,
});

// The engine's timers are unreferenced and do not keep the process alive.
const alive = setInterval(() => {}, 1_000);

process.on('SIGTERM', () => {
  clearInterval(alive);
  void node.engine
    .stop()
    .then(() => Promise.all([node.pool.end(), close()]))
    .then(() => process.exit(0));
});
process.stdout.write('started\n');
