import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { namedAddresses, type OutgoingAddresses } from '../config/outgoing-addresses.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/database-errors.ts';
import type { NotificationListener } from '../db/listen.ts';
import type { Storage } from '../db/open-storage.ts';
import { type PoolUsage, poolUsage } from '../db/pool.ts';
import type { Transport } from '../delivery/delivery.ts';
import type { Engine } from '../delivery/engine.ts';
import { allocateStatsMemory } from '../delivery/engine-stats.ts';
import { EngineThread } from '../delivery/engine-thread.ts';
import { type ShapingRules, shapingErrors } from '../delivery/shaping.ts';
import { assert } from '../lib/assert.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { isLocalAddress, isOwnListener } from '../lib/net/local-address.ts';
import { engineLimits, loadTransportWrapper, openEngine } from './build-engine.ts';
import type { ThreadData } from './delivery-thread.ts';

/** The part of the assembly that sends: the engine, in a thread of its own or in this one. */
export interface DeliveryNeeds {
  config: Config;
  clock: Clock;
  log: Log;
  storage: Storage;
  notices: NotificationListener;
  /** Where we take mail ourselves, once the doors are open. */
  ownPlaces: () => AddressInfo[];
  /** Results were committed, and events with them. */
  told: () => void;
  /** How live mail leaves, when not by the configured routes; in this thread alone. */
  liveTransport?: Transport;
  transportWrapper?: URL;
}

export interface DeliveryRoom {
  /** Undefined without the role `delivery`. */
  engine: Engine | undefined;
  /** Settles when the engine can be started. */
  ready: Promise<void>;
  /** How long the thread of the engine has been at work; undefined when it has none of its own. */
  busyMs: (() => number) | undefined;
  connections(): Promise<Record<string, PoolUsage>>;
  /** When the engine has stopped, or was never started. */
  close(): Promise<void>;
}

export async function openDelivery(needs: DeliveryNeeds): Promise<DeliveryRoom> {
  const { roles, delivery } = needs.config;
  if (!roles.has('delivery')) {
    const nothing = { engine: undefined, ready: Promise.resolve(), busyMs: undefined };
    return { ...nothing, connections: async () => ({}), close: async () => {} };
  }
  const shaping = readShaping(delivery.shapingFile);
  await checkOutgoing(delivery.outgoing);
  return hasOwnThread(needs.config) ? openThread(needs, shaping) : openHere(needs, shaping);
}

/** With one core a thread gains nothing, and who only delivers has nobody to share this one with. */
function hasOwnThread({ roles, delivery }: Config): boolean {
  if (delivery.thread !== 'auto') return delivery.thread === 'on';
  return availableParallelism() > 1 && roles.size > 1;
}

function openThread(needs: DeliveryNeeds, shaping: ShapingRules | undefined): DeliveryRoom {
  const { config, clock, log, storage, ownPlaces, told } = needs;
  assert(
    clock === systemClock && !needs.liveTransport,
    'a thread has the time and the routes of all',
  );
  const memory = allocateStatsMemory();
  const data: ThreadData = {
    settings: config.delivery,
    shaping,
    places: storage.hosts,
    secretKey: storage.secretKey,
    logLevel: log.level as ThreadData['logLevel'],
    memory,
    transportWrapper: needs.transportWrapper?.href,
  };
  const worker = new Worker(new URL('./delivery-thread.ts', import.meta.url), { workerData: data });
  const limits = engineLimits(config.delivery);
  const broken = (error: Error): never => {
    log.fatal({ err: error }, 'the thread of the delivery engine has ended: so does this process');
    throw error;
  };
  const engine = new EngineThread({
    worker,
    memory,
    clock,
    log,
    limits,
    localListeners: ownPlaces,
    onEventsCommitted: told,
    onCrash: broken,
  });
  return {
    engine,
    ready: engine.ready,
    busyMs: () => engine.busyMs(),
    connections: () => engine.connections(),
    close: () => engine.terminate(),
  };
}

async function openHere(
  needs: DeliveryNeeds,
  shaping: ShapingRules | undefined,
): Promise<DeliveryRoom> {
  const { config, clock, log, storage, notices, ownPlaces, told } = needs;
  const { transportWrapper } = needs;
  const { engine, pool } = openEngine({
    settings: config.delivery,
    shaping,
    places: storage.hosts,
    secretKey: storage.secretKey,
    keysPool: storage.pool,
    clock,
    log,
    notices,
    isOwnAddress: (ip, port) => isOwnListener(ownPlaces(), ip, port),
    told,
    ...(needs.liveTransport ? { liveTransport: needs.liveTransport } : {}),
    wrapLiveTransport: transportWrapper
      ? await loadTransportWrapper(transportWrapper.href)
      : (route) => route,
  });
  return {
    engine,
    ready: Promise.resolve(),
    busyMs: undefined,
    connections: async () => ({ delivery: poolUsage(pool) }),
    close: () => pool.end(),
  };
}

/** Mail that is to leave from somebody else's address would be deferred until it expires. */
async function checkOutgoing(outgoing: OutgoingAddresses): Promise<void> {
  for (const address of namedAddresses(outgoing)) {
    if (await isLocalAddress(address)) continue;
    throw new StorageStartError(
      `OUTGOING_ADDRESSES: ${address} is not an address of this machine.`,
    );
  }
}

function readShaping(file: string | undefined): ShapingRules | undefined {
  if (file === undefined) return undefined;
  let rules: unknown;
  try {
    rules = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new StorageStartError(
      `SHAPING_FILE: ${file} cannot be read as JSON: ${error instanceof Error ? error.message : ''}`,
    );
  }
  const faults = shapingErrors(rules);
  if (faults.length > 0) throw new StorageStartError(`SHAPING_FILE: ${faults.join(' ')}`);
  return rules as ShapingRules;
}
