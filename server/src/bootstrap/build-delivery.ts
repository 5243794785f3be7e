import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { namedSources } from '../config/delivery-routes.ts';
import { namedAddresses } from '../config/outgoing-addresses.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/connections/database-errors.ts';
import type { NotificationListener } from '../db/connections/listen.ts';
import { type PoolUsage, poolUsage } from '../db/connections/pool.ts';
import { DatabaseClock } from '../db/database-clock.ts';
import type { Storage } from '../db/open-storage.ts';
import type { Engine } from '../delivery/engine.ts';
import { allocateStatsMemory } from '../delivery/engine-stats.ts';
import { EngineThread } from '../delivery/engine-thread.ts';
import { readShapingFile } from '../delivery/receivers/read-shaping-file.ts';
import type { ShapingRules } from '../delivery/receivers/shaping.ts';
import { assert } from '../lib/assert.ts';
import type { Log } from '../lib/log.ts';
import { isLocalAddress, isOwnListener } from '../lib/net/local-address.ts';
import { type Clock, systemClock } from '../lib/time/clock.ts';
import type { BounceRule } from '../messages/verdict/bounce-rules.ts';
import { buildEngine, engineLimits, type TransportFactory } from './build-engine.ts';
import type { DeliveryThreadData } from './run-delivery-thread.ts';

/** Builds the delivery engine of this process, in the main thread or in a worker thread. */
export interface DeliveryOptions {
  config: Config;
  clock: Clock;
  log: Log;
  storage: Storage;
  notifications: NotificationListener;
  /** The open listeners for incoming mail. The array is filled before the engine starts. */
  /** The operator's rules, which the delivery thread needs too. */
  bounceRules: readonly BounceRule[];
  localListeners: AddressInfo[];
  /** Called when outcomes, and events with them, were committed. */
  onEventsCommitted: () => void;
  overrides?: DeliveryOverrides | undefined;
}

/** Replaces parts of delivery, for tests and benchmarks. */
export interface DeliveryOverrides {
  liveTransport?: TransportFactory | undefined;
  /**
   * The entry point of the delivery thread. A function cannot be passed to a worker, so a different
   * transport in a thread needs an entry point that calls `runDeliveryThread` with it.
   */
  threadEntry?: URL | undefined;
}

export interface DeliveryRuntime {
  /** Undefined without the role `delivery`. */
  engine: Engine | undefined;
  /** Resolves when the engine can be started. */
  ready: Promise<void>;
  /** The active time of the delivery thread; undefined without a thread. */
  busyMs: (() => number) | undefined;
  connections(): Promise<Record<string, PoolUsage>>;
  /** Releases all resources, after the engine has stopped or if it was never started. */
  close(): Promise<void>;
}

export async function buildDelivery(options: DeliveryOptions): Promise<DeliveryRuntime> {
  const { roles, delivery } = options.config;
  if (!roles.has('delivery')) {
    return {
      engine: undefined,
      ready: Promise.resolve(),
      busyMs: undefined,
      connections: async () => ({}),
      close: async () => {},
    };
  }
  const shaping = readShapingFile(delivery.shapingFile);
  await checkOutgoing(delivery);
  return usesThread(options.config) ? buildInThread(options, shaping) : buildHere(options, shaping);
}

/** A thread gains nothing with one core, or if the process has no other role. */
function usesThread({ roles, delivery }: Config): boolean {
  if (delivery.thread !== 'auto') return delivery.thread === 'on';
  return availableParallelism() > 1 && roles.size > 1;
}

const THREAD_ENTRY = new URL('./delivery-thread.ts', import.meta.url);

function buildInThread(
  options: DeliveryOptions,
  shaping: ShapingRules | undefined,
): DeliveryRuntime {
  const { config, clock, log, storage, localListeners, overrides = {} } = options;
  const { liveTransport, threadEntry = THREAD_ENTRY } = overrides;
  const clockOffsetMs = clock instanceof DatabaseClock ? clock.offsetMs : undefined;
  assert(clockOffsetMs !== undefined || clock === systemClock, 'a thread has the same clock');
  assert(
    !liveTransport || overrides.threadEntry,
    'a transport in a thread has its own entry point',
  );
  const memory = allocateStatsMemory();
  const data: DeliveryThreadData = {
    settings: config.delivery,
    shaping,
    bounceRules: options.bounceRules,
    hosts: storage.hosts,
    exclusive: storage.exclusive,
    secretKey: storage.secretKey,
    logLevel: log.level as DeliveryThreadData['logLevel'],
    memory,
    clockOffsetMs,
  };
  const engine = new EngineThread({
    worker: new Worker(threadEntry, { workerData: data }),
    memory,
    clock,
    log,
    limits: engineLimits(config.delivery),
    localListeners: () => localListeners,
    onEventsCommitted: options.onEventsCommitted,
    onCrash: (error) => {
      log.fatal({ err: error }, 'delivery thread crashed: exiting');
      throw error;
    },
  });
  return {
    engine,
    ready: engine.ready,
    busyMs: () => engine.busyMs(),
    connections: () => engine.connections(),
    close: () => engine.terminate(),
  };
}

function buildHere(options: DeliveryOptions, shaping: ShapingRules | undefined): DeliveryRuntime {
  const { config, clock, log, storage, notifications, localListeners } = options;
  const { engine, pool, close } = buildEngine({
    settings: config.delivery,
    shaping,
    hosts: storage.hosts,
    exclusive: storage.exclusive,
    secretKey: storage.secretKey,
    keysPool: storage.pool,
    clock,
    log,
    notifications,
    isOwnListener: (ip, port) => isOwnListener(localListeners, ip, port),
    onEventsCommitted: options.onEventsCommitted,
    liveTransport: options.overrides?.liveTransport,
  });
  return {
    engine,
    ready: Promise.resolve(),
    busyMs: undefined,
    connections: async () => ({ delivery: poolUsage(pool) }),
    close,
  };
}

/** With a source address of another machine, all mail would be deferred until it expires. */
async function checkOutgoing(settings: Config['delivery']): Promise<void> {
  const standard = { setting: 'OUTGOING_ADDRESSES', outgoing: settings.outgoing };
  for (const { setting, outgoing } of [standard, ...namedSources(settings)]) {
    for (const address of namedAddresses(outgoing)) {
      if (await isLocalAddress(address)) continue;
      throw new StorageStartError(`${setting}: ${address} is not an address of this machine.`);
    }
  }
}
