import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/read-config.ts';
import type { NotificationListener } from '../db/listen.ts';
import type { Storage } from '../db/open-storage.ts';
import { openPool, type Pool } from '../db/pool.ts';
import { EventStreams, type StreamLimits } from '../events/event-streams.ts';
import { notifyEventsAppended } from '../events/events-store.ts';
import { EventNotifier } from '../events/event-notifier.ts';
import { encodeEventCursor } from '../http/routes/events/event-query.ts';
import type { RouteDependencies } from '../http/operations.ts';
import { registerTrackingEndpoints } from '../http/pages/tracking-endpoints.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { PeriodicTasks } from '../lib/periodic-tasks.ts';
import { Alarms } from '../stats/alarms.ts';
import { StatsAggregator } from '../stats/stats-aggregator.ts';
import { TrackingLinks } from '../tracking/tracking-links.ts';
import { TrackingRecorder } from '../tracking/tracking-recorder.ts';
import { VERSION } from '../version.ts';
import type { WebhookDispatcher } from '../webhooks/webhook-dispatcher.ts';
import {
  type WebhookModuleParts,
  createWebhooks,
  type WebhookSettings,
} from '../webhooks/create-webhooks.ts';

/**
 * The part of the assembly that tells what happened: everything that follows the ledger of events.
 * Whoever appends events rings the bell, and the followers look.
 */
export interface EventConsumers {
  parts: Pick<RouteDependencies, 'webhooks' | 'webhookHistory' | 'webhookTester' | 'eventStreams'>;
  /** Who sends webhooks here, and over which connections; neither without that role. */
  readonly dispatcher: WebhookDispatcher | undefined;
  readonly pool: Pool | undefined;
  /** Readers that stay connected are asked to go, so that the server can close. */
  closeStreams(): void;
  /** For whoever has appended events in a way that none of the others hears of. */
  notify(): void;
  /** A request that changed something has appended events; opens and clicks become some. */
  registerRoutes(http: FastifyInstance): void;
  start(): void;
  stop(deadlineMs: number): Promise<void>;
}

export interface EventConsumersOptions {
  storage: Storage;
  notices: NotificationListener;
  clock: Clock;
  log: Log;
  config: Config;
  webhooks?: Pick<WebhookModuleParts, 'ca' | 'limits' | 'deadlineMs'>;
  streams?: Partial<StreamLimits>;
}

export function createEventConsumers(options: EventConsumersOptions): EventConsumers {
  const { storage, notices, clock, log, config } = options;
  const { pool } = storage;
  const bell = new EventNotifier({ clock, notifyNodes: (from) => notifyEventsAppended(pool, from) });
  notices.on('events', (from) => bell.receive(from));

  const dispatchPool = config.roles.has('webhooks')
    ? openPool({ hosts: storage.hosts, log, max: 4, applicationName: 'postrider webhooks' })
    : undefined;
  const room = createWebhooks({
    pool,
    dispatchPool,
    clock,
    log,
    secretKey: storage.secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: webhookSettings(config),
    version: VERSION,
    mailCommits: () => bell.publishedCount,
    ...options.webhooks,
  });
  bell.subscribe(() => room.dispatcher?.wake());

  const eventStreams = new EventStreams({
    pool,
    clock,
    log,
    cursorOf: encodeEventCursor,
    ...(options.streams ? { limits: options.streams } : {}),
  });
  bell.subscribe(() => eventStreams.wake());
  notices.on('accounts', (workspaceId) => eventStreams.closeWorkspace(workspaceId));
  notices.on('people', (personId) => eventStreams.closeReader(encodeId('usr', personId)));
  notices.onGap(() => eventStreams.closeForReauthentication());

  const statistics = config.roles.has('webhooks')
    ? new StatsAggregator({ pool, clock, log })
    : undefined;
  const links = new TrackingLinks(storage.secretKey);
  const visits = new TrackingRecorder({ pool, clock, log, onEventsAppended: () => bell.publish() });
  const rounds = new PeriodicTasks({ clock, log });
  if (statistics) {
    const alarms = new Alarms({ pool, clock, thresholds: config.alarms });
    rounds.schedule(CLEANING_MS, 'delete old counts', () => statistics.deleteOld());
    rounds.schedule(ALARMS_MS, 'look for alarms', () => alarms.check());
  }

  return {
    parts: {
      webhooks: room.webhooks,
      webhookHistory: room.history,
      webhookTester: room.tester,
      eventStreams,
    },
    dispatcher: room.dispatcher,
    pool: dispatchPool,
    closeStreams: () => eventStreams.closeAll(),
    notify: () => bell.publish(),
    registerRoutes(http) {
      registerTrackingEndpoints(http, { links, visits });
    },
    start() {
      room.dispatcher?.start();
      statistics?.start();
    },
    async stop(deadlineMs) {
      await visits.drained();
      await eventStreams.stop();
      await rounds.stop();
      await statistics?.stop();
      await room.dispatcher?.stop(deadlineMs);
      room.close();
      await dispatchPool?.end();
    },
  };
}

const CLEANING_MS = 600_000;
const ALARMS_MS = 30_000;

function webhookSettings({ webhooks }: Config): WebhookSettings {
  const { allowPrivate, ports, concurrency, endpointConcurrency } = webhooks;
  const portAllowed = (port: number): boolean =>
    ports.some(({ from, to }) => port >= from && port <= to);
  return { allowPrivate, portAllowed, concurrency, endpointConcurrency };
}
