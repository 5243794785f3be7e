import { statfs } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Config } from '../config/read-config.ts';
import { DISK_FULL, whyNotWritable } from '../db/connections/database-requirements.ts';
import { type Pool, poolUsage } from '../db/connections/pool.ts';
import type { ReadReplica } from '../db/connections/read-replica.ts';
import type { StorageOutage } from '../db/connections/storage-outage.ts';
import { listCurrentWarmUps } from '../delivery/warm-up/warm-up-store.ts';
import { oldestUnprocessed } from '../events/event-consumer-store.ts';
import { oldestHiddenEventMs } from '../events/events-store.ts';
import { registerHealthChecks } from '../http/observability/health-checks.ts';
import { addCollectedMetric } from '../http/observability/http-metrics.ts';
import {
  addDeliveryMetrics,
  addPoolMetrics,
  addProcessMetrics,
  addQueueMetrics,
  addWarmUpMetrics,
  addWebhookMetrics,
} from '../http/observability/node-metrics.ts';
import { type HttpListener, resolveListenAddresses } from '../http/server/http-listener.ts';
import type { Log } from '../lib/log.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import { readQueue } from '../stats/queue-store.ts';
import { VERSION } from '../version.ts';
import type { DeliveryRuntime } from './build-delivery.ts';
import type { EventConsumers } from './event-consumers.ts';

/** Health checks and metrics, which every node serves, whatever its roles. */
export interface ObservabilityOptions {
  config: Config;
  registry: Registry;
  clock: Clock;
  /** `ready`, or why the node is not ready. */
  state: () => string;
  pool: Pool;
  replica: ReadReplica | undefined;
  outage: StorageOutage;
  acceptor: MessageAcceptor;
  delivery: DeliveryRuntime;
  consumers: EventConsumers;
}

export function registerHealthAndMetrics(
  http: FastifyInstance,
  options: ObservabilityOptions,
): void {
  const { registry, clock, pool, replica, delivery, acceptor } = options;
  const { dispatcher, dispatcherPool } = options.consumers;
  const probe = shareRuns(() => whyNotWritable(pool));
  const { dataDir, databaseUrl } = options.config.storage;
  const readFreeBytes = databaseUrl === undefined ? () => freeBytes(dataDir) : undefined;
  // The embedded PostgreSQL ends when the disk is full, and does not start again.
  const isFull = async () =>
    readFreeBytes !== undefined && (await readFreeBytes()) < DISK_FULL_BYTES;
  registerHealthChecks(http, {
    registry,
    notReady: async () => {
      const state = options.state();
      if (state !== 'ready') return state;
      const reason = await probe();
      if (reason !== undefined) return (await isFull()) ? DISK_FULL : reason;
      if (options.outage.diskIsFull) return DISK_FULL;
      options.outage.stored();
      return undefined;
    },
  });
  addProcessMetrics(registry, VERSION, delivery.busyMs ? { delivery: delivery.busyMs } : {});
  addCollectedMetric(registry, {
    name: 'postrider_accept_waiting',
    help: 'Sends waiting for their commit.',
    type: 'gauge',
    read: () => acceptor.waiting,
  });
  const { engine } = delivery;
  if (engine) addDeliveryMetrics(registry, () => engine.stats);
  if (dispatcher) addWebhookMetrics(registry, () => dispatcher.stats);
  addPoolMetrics(registry, async () => ({
    main: poolUsage(pool),
    ...(replica ? { reads: poolUsage(replica.pool) } : {}),
    ...(await delivery.connections()),
    ...(dispatcherPool ? { webhooks: poolUsage(dispatcherPool) } : {}),
  }));
  if (readFreeBytes) {
    addCollectedMetric(registry, {
      name: 'postrider_disk_free_bytes',
      help: 'Free space for the embedded database, at DATA_DIR.',
      type: 'gauge',
      read: readFreeBytes,
    });
  }
  if (replica) {
    addCollectedMetric(registry, {
      name: 'postrider_standby_lag_seconds',
      help: 'How far the standby of DATABASE_READ_URL is behind; NaN before it was reached.',
      type: 'gauge',
      read: () => (replica.lagMs ?? Number.NaN) / 1000,
    });
  }
  addQueueMetrics(registry, {
    readQueue: () => readQueue(pool, 'all', clock.now()),
    readHiddenEvent: async () => ({ createdAtMs: await oldestHiddenEventMs(pool) }),
    readUnprocessed: () => oldestUnprocessed(pool),
    now: () => clock.now(),
  });
  addWarmUpMetrics(registry, {
    readWarmUps: () => listCurrentWarmUps(pool, clock.now()),
    now: () => clock.now(),
  });
}

/** PostgreSQL cannot even create a segment of its write-ahead log. */
const DISK_FULL_BYTES = 16 * 1024 ** 2;

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Concurrent callers share a run, so that health checks commit one at a time. */
function shareRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/**
 * Opens the HTTP port. Without the role `api` it is only used for health checks and metrics, so a node
 * runs without it if the default port is taken, as when several nodes share a machine.
 */
export async function listenHttp(
  listener: HttpListener,
  config: Config,
  log: Log,
): Promise<string> {
  const { host, port, portIsExplicit } = config.http;
  try {
    return await listener.listen(await resolveListenAddresses(host), port);
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    if (!taken || portIsExplicit || config.roles.has('api')) throw error;
    log.warn({ port }, 'port in use: health checks and metrics are not available, set PORT');
    return '';
  }
}
