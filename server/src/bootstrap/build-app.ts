import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { ApiKeys } from '../accounts/api-keys.ts';
import { saveBaseUrl } from '../accounts/moved-workspace-store.ts';
import type { PasswordCost } from '../accounts/people/passwords.ts';
import type { People } from '../accounts/people/people.ts';
import type { Workspaces } from '../accounts/workspaces.ts';
import type { Config } from '../config/read-config.ts';
import { listen, type NotificationListener } from '../db/connections/listen.ts';
import type { Pool } from '../db/connections/pool.ts';
import { ReadReplica, readsFromPrimary } from '../db/connections/read-replica.ts';
import { StorageOutage } from '../db/connections/storage-outage.ts';
import { DatabaseClock } from '../db/database-clock.ts';
import { openStorage, type Storage } from '../db/open-storage.ts';
import { migrate } from '../db/schema/migrate.ts';
import { startPartitionMaintenance } from '../db/schema/partition-maintenance.ts';
import { verifySecretKey } from '../db/verify-secret-key.ts';
import type { Engine } from '../delivery/engine.ts';
import type { Domains } from '../domains/domains.ts';
import { saveMailHosts } from '../domains/mail-hosts-store.ts';
import { EventNotifier } from '../events/event-notifier.ts';
import { notifyEventsAppended } from '../events/events-store.ts';
import { createRegistry } from '../http/observability/http-metrics.ts';
import type { Log } from '../lib/log.ts';
import { type Clock, systemClock } from '../lib/time/clock.ts';
import type { GenerateDkimKeys } from '../mail/dkim/keys.ts';
import { MailParser } from '../mail/mime/mail-parser.ts';
import { remoteHandoff } from '../messages/accept/delivery-handoff.ts';
import { DELIVERIES } from '../messages/deliveries/delivery-lease-store.ts';
import { notifyDeliveriesDue } from '../messages/lookup/message-store.ts';
import { readOperatorRules } from '../messages/verdict/operator-rules.ts';
import { setOperatorRules } from '../messages/verdict/verdict-rules.ts';
import { expireAllLeases } from '../queue/lease-store.ts';
import { IncomingMail } from '../smtp/incoming-mail.ts';
import { WEBHOOK_DELIVERIES } from '../webhooks/dispatch/webhook-queue-store.ts';
import { type BackgroundJobsOptions, startBackgroundJobs } from './background-jobs.ts';
import type { AcceptGroup } from './build-acceptor.ts';
import { buildDelivery, type DeliveryOverrides } from './build-delivery.ts';
import { returnPathKey } from './build-engine.ts';
import { buildHttp } from './build-http.ts';
import {
  buildReturnPath,
  createReports,
  type ReturnPath,
  type ReturnPathOptions,
} from './build-return-path.ts';
import { buildServices, type Services, type ServicesOptions } from './build-services.ts';
import { buildSubmission, type Submission, type SubmissionOptions } from './build-submission.ts';
import { createEventConsumers, type EventConsumersOptions } from './event-consumers.ts';
import { listenHttp } from './observability.ts';

/**
 * The composition root: turns the configuration into a running server that can be stopped. Every part
 * is created here, or in a build-*.ts file beside this one, and gets only what it needs.
 */
export interface App extends AsyncDisposable {
  readonly http: FastifyInstance;
  /** The URL of the HTTP server; empty if it does not listen. */
  readonly address: string;
  readonly storage: Storage;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly people: People;
  readonly domains: Domains;
  readonly engine: Engine | undefined;
  readonly submission: Pick<Submission, 'port' | 'tlsPort' | 'settings' | 'renewCertificate'>;
  readonly returnPath: Pick<ReturnPath, 'address'>;
  /** Stops accepting, finishes work in progress, releases the rest to other nodes, and closes. */
  stop(): Promise<void>;
}

export interface AppOptions {
  config: Config;
  log: Log;
  /** Aborts the start. */
  signal?: AbortSignal;
  clock?: Clock;
  overrides?: AppOverrides;
}

/** Replaces parts of the app that have no setting, for tests and benchmarks. */
export interface AppOverrides {
  delivery?: DeliveryOverrides | undefined;
  acceptGroup?: AcceptGroup | undefined;
  passwordCost?: PasswordCost | undefined;
  generateDkimKeys?: GenerateDkimKeys | undefined;
  webhooks?: EventConsumersOptions['webhooks'];
  streams?: EventConsumersOptions['streams'];
  submission?: SubmissionOptions['limits'];
  returnPath?: ReturnPathOptions<unknown>['limits'];
  inbound?: ServicesOptions['inbound'];
}

type NodeState = 'starting' | 'ready' | 'draining';

export async function buildApp(options: AppOptions): Promise<App> {
  // Released in reverse order, by stop() and by a failed start.
  const cleanup = new AsyncDisposableStack();
  try {
    return await startApp(options, cleanup);
  } catch (error) {
    await cleanup.disposeAsync();
    throw error;
  }
}

async function startApp(options: AppOptions, cleanup: AsyncDisposableStack): Promise<App> {
  const { config, log, overrides = {} } = options;
  let state: NodeState = 'starting';
  const drainMs = (): number => (state === 'starting' ? 0 : config.http.drainMs);
  const registry = createRegistry();
  const localListeners: AddressInfo[] = [];
  const bounceRules = readOperatorRules(config.delivery.bounceRulesFile);
  setOperatorRules(bounceRules);

  const { storage, clock, notifications, replica } = await openDatabase(options, cleanup);
  const { pool } = storage;
  const notifier = createNotifier(storage, notifications, clock);
  const onEventsAppended = (): void => notifier.publish();
  const base = { config, clock, log, storage, notifications };
  const delivery = await buildDelivery({
    ...base,
    bounceRules,
    localListeners,
    onEventsCommitted: onEventsAppended,
    overrides: overrides.delivery,
  });
  cleanup.defer(() => delivery.close());
  const { engine } = delivery;
  const { webhooks, streams } = overrides;
  const mailParser = new MailParser(clock);
  const consumers = createEventConsumers({ ...base, notifier, webhooks, streams, mailParser });
  cleanup.defer(async () => {
    await Promise.all([
      state === 'starting' ? undefined : engine?.stop(drainMs()),
      consumers.stop(drainMs()),
    ]);
  });
  const services = buildServices({
    ...{ ...base, ...overrides, onEventsAppended, mailParser },
    handoff: engine ?? remoteHandoff(clock, () => notifyDeliveriesDue(pool)),
    webhookTargets: consumers.webhookTargets,
  });
  const outage = new StorageOutage({ clock, log });
  const smtp = { config, clock, log, registry, localListeners, outage };
  const submission = await buildSubmission({ ...smtp, ...services, limits: overrides.submission });
  const reports = createReports({
    ...{ config, clock, log, pool, onEventsAppended },
    suppressions: services.suppressions,
    unsubscribes: services.unsubscribes,
    returnPathKey: returnPathKey(storage.secretKey),
  });
  const { inboundReceiver: inbound } = services;
  const receiver = new IncomingMail({ reports, inbound });
  const returnPath = await buildReturnPath({ ...smtp, receiver, limits: overrides.returnPath });
  const { http, listener } = buildHttp({
    ...{ config, clock, log, registry, pool, services, consumers, delivery, submission, outage },
    reports,
    reads: replica ?? readsFromPrimary(pool),
    replica,
    secretKey: storage.secretKey,
    isSoleDeliverer: storage.exclusive && config.roles.has('delivery'),
    state: () => state,
    onChange: onEventsAppended,
  });

  const stopping = new AbortController();
  const { signal } = stopping;
  const listeners = [submission, returnPath];
  startServices({ ...services, pool, clock, log, listeners, signal }, cleanup);
  const { people } = services;
  if (config.roles.has('api')) await people.singleSignOn.connections.applySettings();
  await delivery.ready;
  await firstOf(notifications.ready, 5_000);
  cleanup.defer(async () => {
    const limitMs = drainMs() / 2;
    await Promise.all([listener, submission, returnPath].map((one) => one.drain(limitMs)));
  });
  await submission.listen();
  await returnPath.listen();
  const address = await listenHttp(listener, config, log);
  cleanup.defer(() => {
    stopping.abort();
    services.erasures.stop();
    services.purges.stop();
    consumers.closeStreams();
  });
  cleanup.defer(async () => {
    state = 'draining';
    await listener.discourage(config.http.shutdownDelayMs);
  });
  engine?.start();
  consumers.start();
  state = 'ready';

  // disposeAsync() does nothing the second time, but a second caller must wait for the first.
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= cleanup.disposeAsync());
  const { workspaces, apiKeys, domains } = services;
  return {
    ...{ http, address, storage, workspaces, apiKeys, people, domains, engine },
    submission,
    returnPath,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Starts the background jobs of the services, and lets both finish when the server stops. */
function startServices(
  services: Services & BackgroundJobsOptions,
  cleanup: AsyncDisposableStack,
): void {
  const { authenticator, requestLog, messageQuotas } = services;
  cleanup.defer(() => authenticator.flushLastUsed().catch(() => {}));
  cleanup.defer(() => requestLog.flush());
  cleanup.defer(() => messageQuotas.release().catch(() => {}));
  cleanup.defer(() => services.publishQuotaNotices().catch(() => {}));
  const jobs = startBackgroundJobs(services);
  cleanup.defer(() => jobs.stop());
  cleanup.defer(async () => {
    await services.people.settled();
    await services.imports.stop();
    await services.mailParser.stop();
    await services.mailAuthenticator.stop();
    await services.acceptor.drained();
  });
}

/**
 * The timer is referenced, because nothing else may keep the process alive: the listener's own timer,
 * which tries the next host when the first is a standby, does not.
 */
async function firstOf(ready: Promise<void>, limitMs: number): Promise<void> {
  const done = new AbortController();
  await Promise.race([ready, sleep(limitMs, undefined, { signal: done.signal }).catch(() => {})]);
  done.abort();
}

/** Opens and migrates the database, and starts what runs as long as it is open. */
async function openDatabase(
  options: AppOptions,
  cleanup: AsyncDisposableStack,
): Promise<{
  storage: Storage;
  clock: Clock;
  notifications: NotificationListener;
  replica: ReadReplica | undefined;
}> {
  const { config, log, signal } = options;
  const abort = signal ? { signal } : {};
  const { secretKey, retention } = config;
  const storage = await openStorage({
    ...config.storage,
    ...abort,
    secretKey,
    log,
    holder: 'server',
  });
  cleanup.defer(() => storage.stop());
  const { pool } = storage;
  const clock = options.clock ?? (await openClock(storage, log, cleanup));
  await migrate(pool, log, abort);
  await verifySecretKey(pool, storage.secretKey, { allowOther: config.allowOtherSecretKey });
  // Workers may run without the settings of the API nodes, such as BASE_URL.
  if (config.roles.has('api')) {
    await saveMailHosts(pool, config.domains);
    await saveBaseUrl(pool, config.http.baseUrl);
  }
  const maintenance = await startPartitionMaintenance({
    pool,
    clock,
    log,
    retention,
    partitionDays: config.partitionDays,
    ...abort,
  });
  cleanup.defer(() => maintenance.stop());
  if (storage.exclusive) await expireLeasesOfDeadNode(pool, clock.now(), log);
  const notifications = listen({ hosts: storage.hosts, log });
  cleanup.defer(() => notifications.stop());
  const replica = await openReplica(config, storage, clock, log);
  if (replica) cleanup.use(replica);
  return { storage, clock, notifications, replica };
}

/** Nodes that share a database use its clock; the embedded one is on the same machine. */
async function openClock(
  { exclusive, pool }: Storage,
  log: Log,
  cleanup: AsyncDisposableStack,
): Promise<Clock> {
  if (exclusive) return systemClock;
  const clock = new DatabaseClock({ pool, log });
  cleanup.defer(() => clock.stop());
  await clock.synchronize();
  const aheadMs = systemClock.now() - clock.now();
  if (Math.abs(aheadMs) > CLOCK_DIFFERENCE_MS) {
    log.warn({ aheadMs }, 'the clock of this machine differs from that of the database');
  }
  return clock;
}

const CLOCK_DIFFERENCE_MS = 1_000;

async function openReplica(
  { roles, storage: { readUrl, connectionsMax } }: Config,
  { pool: primary }: Storage,
  clock: Clock,
  log: Log,
): Promise<ReadReplica | undefined> {
  if (readUrl === undefined || !roles.has('api')) return undefined;
  return ReadReplica.open({ readUrl, connectionsMax, primary, clock, log });
}

/** After a crash, its mail is sent at once instead of when the leases end: a one-time code is urgent. */
async function expireLeasesOfDeadNode(pool: Pool, nowMs: number, log: Log): Promise<void> {
  const deliveries = await expireAllLeases(pool, DELIVERIES, nowMs);
  const webhooks = await expireAllLeases(pool, WEBHOOK_DELIVERIES, nowMs);
  if (deliveries + webhooks === 0) return;
  log.info({ deliveries, webhooks }, 'resuming deliveries that were interrupted by a crash');
}

function createNotifier(
  { pool }: Storage,
  notifications: NotificationListener,
  clock: Clock,
): EventNotifier {
  const notifier = new EventNotifier({
    clock,
    notifyNodes: (from) => notifyEventsAppended(pool, from),
  });
  notifications.on('events', (from) => notifier.receive(from));
  return notifier;
}
