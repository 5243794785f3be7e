import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { SuspensionCache } from '../accounts/suspension-cache.ts';
import type { Config } from '../config/read-config.ts';
import type { NotificationListener } from '../db/connections/listen.ts';
import { openPool, type Pool } from '../db/connections/pool.ts';
import type { Storage } from '../db/open-storage.ts';
import type { EventNotifier } from '../events/event-notifier.ts';
import { EventStreams, type StreamLimits } from '../events/event-streams.ts';
import type { RouteDependencies } from '../http/operations.ts';
import { registerSnsEndpoints } from '../http/pages/sns-endpoints.ts';
import { registerTrackingEndpoints } from '../http/pages/tracking-endpoints.ts';
import { encodeEventCursor } from '../http/routes/events/event-query.ts';
import { encodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { PeriodicTasks } from '../lib/scheduling/periodic-tasks.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import { Alarms } from '../stats/alarms.ts';
import { BrakeChecks } from '../stats/brake-checks.ts';
import { StatsAggregator } from '../stats/stats-aggregator.ts';
import { TrackingLinks } from '../tracking/tracking-links.ts';
import { TrackingRecorder } from '../tracking/tracking-recorder.ts';
import { VERSION } from '../version.ts';
import {
  createWebhooks,
  type WebhookModule,
  type WebhookModuleParts,
  type WebhookSettings,
} from '../webhooks/create-webhooks.ts';
import type { WebhookDispatcher } from '../webhooks/dispatch/webhook-dispatcher.ts';
import { WEBHOOK_DELIVERIES } from '../webhooks/dispatch/webhook-queue-store.ts';
import { buildLeaseHolder } from './build-lease-holder.ts';
import { inboundContentReader } from './inbound-content-reader.ts';

/**
 * The consumers of the event log: webhooks, event streams, statistics and alarms. They are woken by
 * the EventNotifier when events were committed, in this process or on another node.
 */
export interface EventConsumers {
  routes: Pick<RouteDependencies, 'webhooks' | 'webhookHistory' | 'webhookTester' | 'eventStreams'>;
  /** What requests to hosts that tenants choose must pass. */
  webhookTargets: WebhookModule['targets'];
  /** Undefined without the role `webhooks`, like its pool. */
  readonly dispatcher: WebhookDispatcher | undefined;
  readonly dispatcherPool: Pool | undefined;
  /** Ends all event streams, so that their connections do not delay the shutdown. */
  closeStreams(): void;
  /** Registers the endpoints that record opens and clicks, and those that webhook receivers need. */
  registerPublicEndpoints(http: FastifyInstance): void;
  start(): void;
  stop(deadlineMs: number): Promise<void>;
}

export interface EventConsumersOptions {
  storage: Storage;
  notifications: NotificationListener;
  notifier: EventNotifier;
  clock: Clock;
  log: Log;
  config: Config;
  mailParser: MailParser;
  webhooks?: Pick<WebhookModuleParts, 'ca' | 'limits' | 'deadlineMs'> | undefined;
  streams?: Partial<StreamLimits> | undefined;
}

const STATS_CLEANUP_MS = 600_000;
const ALARM_CHECK_MS = 30_000;

export function createEventConsumers(options: EventConsumersOptions): EventConsumers {
  const { storage, notifier, clock, log, config } = options;
  const { pool } = storage;
  const hasRole = config.roles.has('webhooks');
  const dispatcherPool = hasRole
    ? openPool({ hosts: storage.hosts, log, max: 4, applicationName: 'postrider webhooks' })
    : undefined;
  const leases = dispatcherPool && createLeaseHolder(options, dispatcherPool);
  const webhooks = createWebhooks({
    pool,
    dispatchPool: dispatcherPool,
    clock,
    log,
    secretKey: storage.secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: webhookSettings(config),
    version: VERSION,
    baseUrl: config.http.baseUrl,
    holder: leases?.holder,
    mailCommits: () => notifier.publishedCount,
    readInboundContent: inboundContentReader(options.mailParser),
    ...options.webhooks,
  });
  notifier.subscribe(() => webhooks.dispatcher?.wake());
  options.notifications.on('moves', (workspaceId) => webhooks.dispatcher?.withhold(workspaceId));
  const eventStreams = createEventStreams(options);
  const links = new TrackingLinks(storage.secretKey);
  const visits = new TrackingRecorder({
    pool,
    clock,
    log,
    onEventsAppended: () => notifier.publish(),
  });
  const statistics = hasRole ? new StatsAggregator({ pool, clock, log }) : undefined;
  notifier.subscribe(() => statistics?.wake());
  options.notifications.on('moves', () => statistics?.hurry());
  const tasks = new PeriodicTasks({ clock, log });
  if (statistics) {
    const alarms = new Alarms({ pool, clock, thresholds: config.alarms });
    tasks.schedule(STATS_CLEANUP_MS, 'add up statistics', () => statistics.foldOld());
    tasks.schedule(STATS_CLEANUP_MS, 'delete old statistics', () => statistics.deleteOld());
    tasks.schedule(ALARM_CHECK_MS, 'check alarms', () => alarms.check());
    const brakes = new BrakeChecks({ pool, clock, settings: config.brake });
    tasks.schedule(ALARM_CHECK_MS, 'check brakes', () => brakes.check());
  }
  return {
    routes: {
      webhooks: webhooks.webhooks,
      webhookHistory: webhooks.history,
      webhookTester: webhooks.tester,
      eventStreams,
    },
    dispatcher: webhooks.dispatcher,
    webhookTargets: webhooks.targets,
    dispatcherPool,
    closeStreams: () => eventStreams.closeAll(),
    registerPublicEndpoints(http) {
      registerTrackingEndpoints(http, { links, visits, suspensions: createSuspensions(options) });
      registerSnsEndpoints(http, { webhooks: webhooks.webhooks });
    },
    start() {
      webhooks.dispatcher?.start();
      statistics?.start();
    },
    async stop(deadlineMs) {
      await visits.drained();
      await eventStreams.stop();
      await tasks.stop();
      await statistics?.stop();
      await webhooks.dispatcher?.stop(deadlineMs);
      webhooks.close();
      await leases?.close();
    },
  };
}

function createSuspensions({ storage, notifications, clock }: EventConsumersOptions) {
  const { pool } = storage;
  const maxAgeMs = () => notifications.cacheMaxAgeMs;
  const suspensions = new SuspensionCache({ pool, clock, maxAgeMs });
  // Suspending a workspace is announced with its domains.
  notifications.on('domains', (workspaceId) => suspensions.invalidateWorkspace(workspaceId));
  notifications.onGap(() => suspensions.invalidateAll());
  return suspensions;
}

function createLeaseHolder({ storage, clock, log }: EventConsumersOptions, pool: Pool) {
  const { exclusive, hosts } = storage;
  const name = `${hostname()}/${process.pid}`;
  return buildLeaseHolder(WEBHOOK_DELIVERIES, { exclusive, hosts, pool, clock, log, name });
}

/** Streams end when their workspace or reader loses access, and after a gap in notifications. */
function createEventStreams(options: EventConsumersOptions): EventStreams {
  const { storage, notifications, notifier, clock, log } = options;
  const streams = new EventStreams({
    pool: storage.pool,
    clock,
    log,
    cursorOf: encodeEventCursor,
    ...(options.streams ? { limits: options.streams } : {}),
  });
  notifier.subscribe(() => streams.wake());
  notifications.on('accounts', (workspaceId) => streams.closeWorkspace(workspaceId));
  notifications.on('people', (personId) => streams.closeReader(encodeId('usr', personId)));
  notifications.onGap(() => streams.closeForReauthentication());
  return streams;
}

function webhookSettings({ webhooks }: Config): WebhookSettings {
  const { allowPrivate, ports, concurrency, endpointConcurrency } = webhooks;
  const portAllowed = (port: number): boolean =>
    ports.some(({ from, to }) => port >= from && port <= to);
  return { allowPrivate, portAllowed, concurrency, endpointConcurrency };
}
