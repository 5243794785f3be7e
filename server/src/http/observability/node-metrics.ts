import type { Registry } from 'prom-client';
import type { Connections } from '../../db/pool.ts';
import type { EngineStats } from '../../delivery/engine-stats.ts';
import type { QueueSnapshot } from '../../stats/queue-store.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import { addFigure, type Reading } from './http-metrics.ts';

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
  addFigure(registry, {
    name: 'postrider_build_info',
    help: 'Always 1; the labels tell what runs.',
    type: 'gauge',
    read: () => [{ value: 1, labels: { version, node: process.versions.node } }],
  });
  addFigure(registry, {
    name: 'process_start_time_seconds',
    help: 'When the process began.',
    type: 'gauge',
    read: () => performance.timeOrigin / 1000,
  });
  addFigure(registry, {
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    type: 'gauge',
    read: () => process.memoryUsage.rss(),
  });
  addFigure(registry, {
    name: 'process_cpu_seconds_total',
    help: 'Time of the processor, all threads.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  });
  addFigure(registry, {
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
  addFigure(registry, {
    name: 'postrider_deliveries_total',
    help: 'Tries of this node on record, by what became of the delivery.',
    type: 'counter',
    read: () => OUTCOMES.map((outcome) => ({ value: stats()[outcome], labels: { outcome } })),
  });
  addFigure(registry, {
    name: 'postrider_deliveries_taken_total',
    help: 'Deliveries this node took up: at once when they were accepted, or from the queue.',
    type: 'counter',
    read: () => [
      { value: stats().handedOff, labels: { from: 'acceptance' } },
      { value: stats().claimed, labels: { from: 'queue' } },
    ],
  });
  addFigure(registry, {
    name: 'postrider_deliveries_in_hand',
    help: 'Deliveries in memory: waiting for their turn, on the wire, or not yet on record.',
    type: 'gauge',
    read: () => [
      { value: stats().ready, labels: { state: 'ready' } },
      { value: stats().inFlight, labels: { state: 'on_wire' } },
      { value: stats().unrecorded, labels: { state: 'unrecorded' } },
    ],
  });
  addFigure(registry, {
    name: 'postrider_delivery_content_bytes',
    help: 'Message contents held in memory.',
    type: 'gauge',
    read: () => stats().contentBytes,
  });
  addFigure(registry, {
    name: 'postrider_delivery_leases_lost_total',
    help: 'Deliveries that another node took over, because this one was too slow.',
    type: 'counter',
    read: () => stats().leasesLost,
  });
  addFigure(registry, {
    name: 'postrider_delivery_faults_total',
    help: 'Faults of our own while preparing or trying. The log tells each of them.',
    type: 'counter',
    read: () => stats().errors,
  });
}

export function addWebhookMetrics(registry: Registry, stats: () => Dispatcher['stats']): void {
  addFigure(registry, {
    name: 'postrider_webhook_tries_total',
    help: 'Tries of this node to tell an endpoint of an event.',
    type: 'counter',
    read: () => [
      { value: stats().succeeded, labels: { outcome: 'succeeded' } },
      { value: stats().failed, labels: { outcome: 'failed' } },
    ],
  });
  addFigure(registry, {
    name: 'postrider_webhooks_in_hand',
    help: 'Deliveries to webhooks in memory: waiting for their turn, or on the wire.',
    type: 'gauge',
    read: () => [
      { value: stats().ready, labels: { state: 'ready' } },
      { value: stats().inFlight, labels: { state: 'on_wire' } },
    ],
  });
}

export function addPoolMetrics(
  registry: Registry,
  connections: () => Promise<Record<string, Connections>>,
): void {
  const told = async (say: (pool: string, of: Connections) => Reading[]): Promise<Reading[]> =>
    Object.entries(await connections()).flatMap(([pool, of]) => say(pool, of));
  addFigure(registry, {
    name: 'postrider_database_connections',
    help: 'Connections of this node to the database, by what they are for.',
    type: 'gauge',
    read: () =>
      told((pool, { totalCount, idleCount }) => [
        { value: idleCount, labels: { pool, state: 'idle' } },
        { value: totalCount - idleCount, labels: { pool, state: 'busy' } },
      ]),
  });
  addFigure(registry, {
    name: 'postrider_database_waiting',
    help: 'Statements that wait for a connection to the database.',
    type: 'gauge',
    read: () => told((pool, { waitingCount }) => [{ value: waitingCount, labels: { pool } }]),
  });
}

/**
 * What waits in the database is the same whichever node is asked. While the database is gone these
 * figures are left out, and the rest is told all the same.
 */
export function addQueueMetrics(registry: Registry, parts: QueueParts): void {
  const read = lately(parts);
  const told = async (say: (queue: QueueSnapshot) => Reading[]): Promise<Reading[]> => {
    const queue = await read();
    return queue ? say(queue) : [];
  };
  addFigure(registry, {
    name: 'postrider_database_up',
    help: 'Whether the database answered.',
    type: 'gauge',
    read: async () => ((await read()) ? 1 : 0),
  });
  addFigure(registry, {
    name: 'postrider_queue_deliveries',
    help: 'Deliveries of all nodes that have not ended. Counted up to 10,000 in all.',
    type: 'gauge',
    read: () =>
      told((queue) =>
        STATUSES.map((status) => ({ value: queue[status], labels: { status } as const })),
      ),
  });
  addFigure(registry, {
    name: 'postrider_queue_oldest_due_seconds',
    help: 'For how long a delivery could have left and did not: the longest among those counted.',
    type: 'gauge',
    read: () =>
      told(({ oldestDueAtMs }) => [
        { value: oldestDueAtMs === null ? 0 : (parts.now() - oldestDueAtMs) / 1000 },
      ]),
  });
}

const STATUSES = ['queued', 'deferred', 'scheduled'] as const;

export interface QueueParts {
  readQueue: () => Promise<QueueSnapshot>;
  now: () => number;
}

/** Figures are open to whoever reaches the port: however often they ask, the database is spared. */
const KNOWN_MS = 5_000;

/** One reading for all who ask meanwhile; undefined when the database did not answer. */
function lately({ readQueue, now }: QueueParts): () => Promise<QueueSnapshot | undefined> {
  let reading: Promise<QueueSnapshot | undefined> | undefined;
  let untilMs = 0;
  return () => {
    if (reading === undefined || now() >= untilMs) {
      untilMs = now() + KNOWN_MS;
      reading = readQueue().catch(() => undefined);
    }
    return reading;
  };
}
