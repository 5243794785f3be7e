import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { Config } from '../config/read-config.ts';
import type { DatabaseHosts } from '../db/database-url.ts';
import { listen } from '../db/listen.ts';
import { openPool, poolUsage } from '../db/pool.ts';
import {
  type EngineCommand,
  type EngineReply,
  restoreAttachmentBuffers,
} from '../delivery/engine-thread.ts';
import type { ShapingRules } from '../delivery/shaping.ts';
import { assert } from '../lib/assert.ts';
import { systemClock } from '../lib/clock.ts';
import { createLog, type LogLevel } from '../lib/log.ts';
import { isOwnListener } from '../lib/net/local-address.ts';
import { loadTransportWrapper, openEngine } from './build-engine.ts';

/**
 * What runs in the thread of the delivery engine: the engine with connections, notices and caches of
 * its own, like a node of its own, but for what is handed to it (delivery/engine-thread.ts).
 */
export interface ThreadData {
  settings: Config['delivery'];
  shaping: ShapingRules | undefined;
  places: DatabaseHosts;
  secretKey: Uint8Array;
  logLevel: LogLevel;
  memory: SharedArrayBuffer;
  transportWrapper: string | undefined;
}

assert(parentPort, 'a thread has somebody who started it');
const port = parentPort;
const { places, logLevel, secretKey, transportWrapper, ...given } = workerData as ThreadData;
const log = createLog({ level: logLevel });
const notices = listen({ hosts: places, log });
const keysPool = openPool({ hosts: places, log, max: 2, applicationName: 'postrider keys' });
let ownPlaces: AddressInfo[] = [];
const { engine, pool } = openEngine({
  ...given,
  places,
  secretKey: Buffer.from(secretKey),
  keysPool,
  clock: systemClock,
  log,
  notices,
  isOwnAddress: (ip, port) => isOwnListener(ownPlaces, ip, port),
  told: () => send({ kind: 'events_committed' }),
  wrapLiveTransport: transportWrapper
    ? await loadTransportWrapper(transportWrapper)
    : (transport) => transport,
});
port.on('message', (order: EngineCommand) => void obey(order));
send({ kind: 'ready' });

async function obey(order: EngineCommand): Promise<void> {
  switch (order.kind) {
    case 'start':
      ownPlaces = order.localListeners;
      engine.start();
      break;
    case 'take':
      engine.handOff(order.lease, order.accepted.map(restoreAttachmentBuffers));
      break;
    case 'wake':
      engine.wake();
      break;
    case 'withdraw': {
      const { requestId, workspaceId, mode, messageId, leased } = order;
      const value = await engine.withdraw(workspaceId, mode, messageId, leased);
      send({ kind: 'response', requestId, value });
      break;
    }
    case 'connections': {
      const value = { delivery: poolUsage(pool), keys: poolUsage(keysPool) };
      send({ kind: 'response', requestId: order.requestId, value });
      break;
    }
    case 'stop':
      await engine.stop(order.deadlineMs);
      await notices.stop();
      await Promise.all([pool.end(), keysPool.end()]);
      // Ends the thread, not the process.
      process.exit();
  }
}

function send(reply: EngineReply): void {
  port.postMessage(reply);
}
