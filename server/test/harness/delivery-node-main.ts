import { systemClock } from '../../src/lib/clock.ts';
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

const node = startEngine({
  url,
  clock: systemClock,
  live: liveRoute({ clock: systemClock, dns, mxPort, senders: unsignedSenders }),
  limits: { leaseMs },
  nodeName,
});

// The engine's timers are unreferenced and do not keep the process alive.
const alive = setInterval(() => {}, 1_000);

process.on('SIGTERM', () => {
  clearInterval(alive);
  void node.engine
    .stop()
    .then(() => node.pool.end())
    .then(() => process.exit(0));
});
process.stdout.write('started\n');
