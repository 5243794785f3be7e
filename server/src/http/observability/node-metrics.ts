import type { Registry } from 'prom-client';
import type { PoolUsage } from '../../db/connections/pool.ts';
import type { EngineStats } from '../../delivery/engine-stats.ts';
import type { CurrentWarmUp } from '../../delivery/warm-up/warm-up-store.ts';
import type { QueueSnapshot } from '../../stats/queue-store.ts';
import type { WebhookDispatcher } from '../../webhooks/dispatch/webhook-dispatcher.ts';
import { addCollectedMetric, type MetricSample } from './http-metrics.ts';

/**
 * Metrics of a node besides its listeners: the process, work in progress, and the database.
 * Every value is read on scrape and costs nothing otherwise. Names and units follow Prometheus
 * conventions; the scraper adds the labels that identify the node.
 */

export function addProcessMetrics(
  registry: Registry,
  version: string,
  /** Returns the busy time of each worker thread in milliseconds. */
  threads: Readonly<Record<string, () => number>>,
): void {
  const mainBusyMs = (): number => performance.eventLoopUtilization().active;
  addCollectedMetric(registry, {
    name: 'postrider_build_info',
    help: 'Always 1; the labels identify the version.',
    type: 'gauge',
    read: () => [{ value: 1, labels: { version, node: process.versions.node } }],
  });
  addCollectedMetric(registry, {
    name: 'process_start_time_seconds',
    help: 'Start time of the process.',
    type: 'gauge',
    read: () => performance.timeOrigin / 1000,
  });
  addCollectedMetric(registry, {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    type: 'gauge',
    read: () => process.memoryUsage.rss(),
  });
  addCollectedMetric(registry, {
    name: 'process_cpu_seconds_total',
    help: 'CPU time of all threads.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  });
  addCollectedMetric(registry, {
    name: 'postrider_event_loop_busy_seconds_total',
    help: 'Time a thread was busy. A rate near 1 means that it is saturated.',
    type: 'counter',
    read: () =>
      Object.entries({ main: mainBusyMs, ...threads }).map(([thread, busyMs]) => ({
        value: busyMs() / 1000,
        labels: { thread },
      })),
  });
}

const OUTCOMES = ['delivered', 'deferred', 'bounced', 'failed', 'expired', 'suppressed'] as const;

export function addDeliveryMetrics(registry: Registry, stats: () => EngineStats): void {
  addCollectedMetric(registry, {
    name: 'postrider_deliveries_total',
    help: 'Recorded delivery attempts of this node by outcome.',
    type: 'counter',
    read: () => OUTCOMES.map((outcome) => ({ value: stats()[outcome], labels: { outcome } })),
  });
  addCollectedMetric(registry, {
    name: 'postrider_deliveries_leased_total',
    help: 'Deliveries leased by this node, handed off on acceptance or claimed from the queue.',
    type: 'counter',
    read: () => [
      { value: stats().handedOff, labels: { source: 'handoff' } },
      { value: stats().claimed, labels: { source: 'claim' } },
    ],
  });
  addCollectedMetric(registry, {
    name: 'postrider_deliveries_in_memory',
    help: 'Deliveries in memory by state: ready, in flight, or not recorded yet.',
    type: 'gauge',
    read: () => [
      { value: stats().ready, labels: { state: 'ready' } },
      { value: stats().inFlight, labels: { state: 'in_flight' } },
      { value: stats().unrecorded, labels: { state: 'unrecorded' } },
    ],
  });
  addCollectedMetric(registry, {
    name: 'postrider_delivery_content_bytes',
    help: 'Bytes of message content in memory.',
    type: 'gauge',
    read: () => stats().contentBytes,
  });
  addCollectedMetric(registry, {
    name: 'postrider_delivery_throttled_receivers',
    help: 'Receivers that limit how much mail they accept from this node.',
    type: 'gauge',
    read: () => stats().throttled,
  });
  addCollectedMetric(registry, {
    name: 'postrider_delivery_leases_lost_total',
    help: 'Leases that this node lost to another node or to expiry.',
    type: 'counter',
    read: () => stats().leasesLost,
  });
  addCollectedMetric(registry, {
    name: 'postrider_delivery_errors_total',
    help: 'Internal errors while preparing or attempting a delivery; each is logged.',
    type: 'counter',
    read: () => stats().errors,
  });
}

export function addWebhookMetrics(
  registry: Registry,
  stats: () => WebhookDispatcher['stats'],
): void {
  addCollectedMetric(registry, {
    name: 'postrider_webhook_attempts_total',
    help: 'Webhook delivery attempts of this node by outcome.',
    type: 'counter',
    read: () => [
      { value: stats().succeeded, labels: { outcome: 'succeeded' } },
      { value: stats().failed, labels: { outcome: 'failed' } },
    ],
  });
  addCollectedMetric(registry, {
    name: 'postrider_webhook_deliveries_in_memory',
    help: 'Webhook deliveries in memory by state: ready or in flight.',
    type: 'gauge',
    read: () => [
      { value: stats().ready, labels: { state: 'ready' } },
      { value: stats().inFlight, labels: { state: 'in_flight' } },
    ],
  });
}

export function addPoolMetrics(
  registry: Registry,
  connections: () => Promise<Record<string, PoolUsage>>,
): void {
  const perPool = async (
    toSamples: (pool: string, of: PoolUsage) => MetricSample[],
  ): Promise<MetricSample[]> =>
    Object.entries(await connections()).flatMap(([pool, of]) => toSamples(pool, of));
  addCollectedMetric(registry, {
    name: 'postrider_database_connections',
    help: 'Database connections of this node by purpose.',
    type: 'gauge',
    read: () =>
      perPool((pool, { totalCount, idleCount }) => [
        { value: idleCount, labels: { pool, state: 'idle' } },
        { value: totalCount - idleCount, labels: { pool, state: 'busy' } },
      ]),
  });
  addCollectedMetric(registry, {
    name: 'postrider_database_waiting',
    help: 'Statements waiting for a database connection.',
    type: 'gauge',
    read: () => perPool((pool, { waitingCount }) => [{ value: waitingCount, labels: { pool } }]),
  });
}

/**
 * The queue in the database is the same for every node. While the database is unavailable these
 * metrics are omitted; all others are still reported.
 */
export function addQueueMetrics(registry: Registry, deps: QueueMetricsDependencies): void {
  const read = cachedReader(deps.readQueue, deps.now);
  const readHiddenEvent = cachedReader(deps.readHiddenEvent, deps.now);
  const readUnprocessed = cachedReader(deps.readUnprocessed, deps.now);
  const fromQueue = async (
    toSamples: (queue: QueueSnapshot) => MetricSample[],
  ): Promise<MetricSample[]> => {
    const queue = await read();
    return queue ? toSamples(queue) : [];
  };
  addCollectedMetric(registry, {
    name: 'postrider_database_up',
    help: 'Whether the database responded.',
    type: 'gauge',
    read: async () => ((await read()) ? 1 : 0),
  });
  addCollectedMetric(registry, {
    name: 'postrider_queue_deliveries',
    help: 'Unfinished deliveries of all nodes. At most 10,000 are counted.',
    type: 'gauge',
    read: () =>
      fromQueue((queue) =>
        STATUSES.map((status) => ({ value: queue[status], labels: { status } as const })),
      ),
  });
  addCollectedMetric(registry, {
    name: 'postrider_queue_oldest_due_seconds',
    help: 'How long the oldest counted delivery has been due.',
    type: 'gauge',
    read: () =>
      fromQueue(({ oldestDueAtMs }) => [
        { value: oldestDueAtMs === null ? 0 : (deps.now() - oldestDueAtMs) / 1000 },
      ]),
  });
  addCollectedMetric(registry, {
    name: 'postrider_event_log_lag_seconds',
    help: 'How long a transaction that is left open has kept events from feed, webhooks and statistics.',
    type: 'gauge',
    read: async () => {
      const hidden = await readHiddenEvent();
      if (!hidden) return [];
      const { createdAtMs = deps.now() } = hidden;
      return [{ value: Math.max(0, deps.now() - createdAtMs) / 1000 }];
    },
  });
  addCollectedMetric(registry, {
    name: 'postrider_event_consumer_lag_seconds',
    help: 'Age of the oldest event that webhooks or statistics have not processed.',
    type: 'gauge',
    read: async () =>
      ((await readUnprocessed()) ?? []).map(({ consumer, createdAtMs }) => ({
        value: createdAtMs === null ? 0 : Math.max(0, deps.now() - createdAtMs) / 1000,
        labels: { consumer },
      })),
  });
}

/** Sending addresses that are being warmed up, the same for every node. Counts are of today, in UTC. */
export function addWarmUpMetrics(
  registry: Registry,
  deps: { readWarmUps: () => Promise<CurrentWarmUp[]>; now: () => number },
): void {
  const read = cachedReader(deps.readWarmUps, deps.now);
  const addGauge = (
    field: Exclude<keyof CurrentWarmUp, 'address' | 'provider'>,
    help: string,
  ): void =>
    addCollectedMetric(registry, {
      name: `postrider_warm_up_${field}`,
      help,
      type: 'gauge',
      read: async () =>
        ((await read()) ?? [])
          .filter(({ cap }) => cap !== null)
          .map(({ address, provider, ...warmUp }) => ({
            value: warmUp[field] ?? 0,
            labels: { address, provider },
          })),
    });
  addGauge('day', 'Day of the warm-up plan.');
  addGauge('cap', 'Messages that may be sent from the address to the provider today.');
  addGauge('used', 'Messages of the cap that were sent, or are reserved by nodes.');
  addGauge('overflowed', 'Messages beyond the cap, sent by another route or deferred.');
  addGauge(
    'refused',
    'Refusals because of reputation or rate, also in late bounces, and complaints.',
  );
}

const STATUSES = ['queued', 'deferred', 'scheduled'] as const;

export interface QueueMetricsDependencies {
  readQueue: () => Promise<QueueSnapshot>;
  /** When the oldest event was committed that readers do not see yet. */
  readHiddenEvent: () => Promise<{ createdAtMs: number | undefined }>;
  /** When the oldest event was committed that a consumer has not processed. */
  readUnprocessed: () => Promise<{ consumer: string; createdAtMs: number | null }[]>;
  now: () => number;
}

/**
 * The metrics endpoint is open to anyone who reaches the port, so the database is read at most this
 * often.
 */
const QUEUE_CACHE_MS = 5_000;

/**
 * Shares one result among all callers until it expires; undefined if the database did not
 * respond.
 */
function cachedReader<T>(read: () => Promise<T>, now: () => number): () => Promise<T | undefined> {
  let cached: Promise<T | undefined> | undefined;
  let untilMs = 0;
  return () => {
    if (cached === undefined || now() >= untilMs) {
      untilMs = now() + QUEUE_CACHE_MS;
      cached = read().catch(() => undefined);
    }
    return cached;
  };
}
