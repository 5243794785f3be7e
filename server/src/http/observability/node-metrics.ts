import type { Registry } from 'prom-client';
import type { PoolUsage } from '../../db/pool.ts';
import type { EngineStats } from '../../delivery/engine-stats.ts';
import type { QueueSnapshot } from '../../stats/queue-store.ts';
import type { WebhookDispatcher } from '../../webhooks/webhook-dispatcher.ts';
import { addCollectedMetric, type MetricSample } from './http-metrics.ts';

/**
 * What an operator watches of a node besides its doors: the process, its work in hand, the database.
 * Every figure is read when somebody asks for it and costs nothing until then. Names and units follow
 * Prometheus; which node a figure is of is for the labels that the one who asks adds.
 */

export function addProcessMetrics(
  registry: Registry,
  version: string,
  /** How long each thread besides the main one has been at work. */
  threads: Readonly<Record<string, () => number>>,
): void {
  const mainBusyMs = (): number => performance.eventLoopUtilization().active;
  addCollectedMetric(registry, {
    name: 'postrider_build_info',
    help: 'Always 1; the labels tell what runs.',
    type: 'gauge',
    read: () => [{ value: 1, labels: { version, node: process.versions.node } }],
  });
  addCollectedMetric(registry, {
    name: 'process_start_time_seconds',
    help: 'When the process began.',
    type: 'gauge',
    read: () => performance.timeOrigin / 1000,
  });
  addCollectedMetric(registry, {
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    type: 'gauge',
    read: () => process.memoryUsage.rss(),
  });
  addCollectedMetric(registry, {
    name: 'process_cpu_seconds_total',
    help: 'Time of the processor, all threads.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  });
  addCollectedMetric(registry, {
    name: 'postrider_event_loop_busy_seconds_total',
    help: 'Time in which a thread was at work. At a rate near 1 it can do no more.',
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
    help: 'Connections of this node to the database, by what they are for.',
    type: 'gauge',
    read: () =>
      perPool((pool, { totalCount, idleCount }) => [
        { value: idleCount, labels: { pool, state: 'idle' } },
        { value: totalCount - idleCount, labels: { pool, state: 'busy' } },
      ]),
  });
  addCollectedMetric(registry, {
    name: 'postrider_database_waiting',
    help: 'Statements that wait for a connection to the database.',
    type: 'gauge',
    read: () => perPool((pool, { waitingCount }) => [{ value: waitingCount, labels: { pool } }]),
  });
}

/**
 * What waits in the database is the same whichever node is asked. While the database is gone these
 * figures are left out, and the rest is told all the same.
 */
export function addQueueMetrics(registry: Registry, deps: QueueMetricsDependencies): void {
  const read = cachedQueueReader(deps);
  const fromQueue = async (
    toSamples: (queue: QueueSnapshot) => MetricSample[],
  ): Promise<MetricSample[]> => {
    const queue = await read();
    return queue ? toSamples(queue) : [];
  };
  addCollectedMetric(registry, {
    name: 'postrider_database_up',
    help: 'Whether the database answered.',
    type: 'gauge',
    read: async () => ((await read()) ? 1 : 0),
  });
  addCollectedMetric(registry, {
    name: 'postrider_queue_deliveries',
    help: 'Deliveries of all nodes that have not ended. Counted up to 10,000 in all.',
    type: 'gauge',
    read: () =>
      fromQueue((queue) =>
        STATUSES.map((status) => ({ value: queue[status], labels: { status } as const })),
      ),
  });
  addCollectedMetric(registry, {
    name: 'postrider_queue_oldest_due_seconds',
    help: 'For how long a delivery could have left and did not: the longest among those counted.',
    type: 'gauge',
    read: () =>
      fromQueue(({ oldestDueAtMs }) => [
        { value: oldestDueAtMs === null ? 0 : (deps.now() - oldestDueAtMs) / 1000 },
      ]),
  });
}

const STATUSES = ['queued', 'deferred', 'scheduled'] as const;

export interface QueueMetricsDependencies {
  readQueue: () => Promise<QueueSnapshot>;
  now: () => number;
}

/** Figures are open to whoever reaches the port: however often they ask, the database is spared. */
const QUEUE_CACHE_MS = 5_000;

/** One reading for all who ask meanwhile; undefined when the database did not answer. */
function cachedQueueReader({
  readQueue,
  now,
}: QueueMetricsDependencies): () => Promise<QueueSnapshot | undefined> {
  let cached: Promise<QueueSnapshot | undefined> | undefined;
  let untilMs = 0;
  return () => {
    if (cached === undefined || now() >= untilMs) {
      untilMs = now() + QUEUE_CACHE_MS;
      cached = readQueue().catch(() => undefined);
    }
    return cached;
  };
}
