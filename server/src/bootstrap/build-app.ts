import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { ApiKeys } from '../accounts/api-keys.ts';
import { Authenticator } from '../accounts/authenticate.ts';
import type { PasswordCost } from '../accounts/people/passwords.ts';
import { createPeople, type People } from '../accounts/people/people.ts';
import { RateLimiter } from '../accounts/rate-limit.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import type { Config } from '../config/read-config.ts';
import { ContactImports, importLimits } from '../contacts/contact-imports.ts';
import { ContactLookup } from '../contacts/contact-lookup.ts';
import { Contacts } from '../contacts/contacts.ts';
import { listen } from '../db/listen.ts';
import { migrate } from '../db/migrate.ts';
import { openStorage, type Storage } from '../db/open-storage.ts';
import { startPartitionMaintenance } from '../db/partition-maintenance.ts';
import { verifySecretKey } from '../db/verify-secret-key.ts';
import type { Transport } from '../delivery/delivery.ts';
import type { Engine } from '../delivery/engine.ts';
import { createDomains } from '../domains/create-domains.ts';
import type { Domains } from '../domains/domains.ts';
import { SenderDomainCache } from '../domains/sender-domain-cache.ts';
import { createHttpMetrics, createRegistry } from '../http/observability/http-metrics.ts';
import { openapiDocument } from '../http/openapi/openapi-document.ts';
import { createOperations } from '../http/operations.ts';
import { registerDashboard } from '../http/pages/dashboard-files.ts';
import { registerPages } from '../http/pages/register-pages.ts';
import { registerDocs } from '../http/reference/docs-routes.ts';
import { createHttpListener } from '../http/server/http-listener.ts';
import { createHttpServer } from '../http/server/http-server.ts';
import { LargeResponseLimiter } from '../http/server/large-response-limiter.ts';
import { createSessionCookie } from '../http/server/session-cookie.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createEncryptor } from '../lib/encryption.ts';
import type { Log } from '../lib/log.ts';
import { noHandoff } from '../messages/accept/delivery-handoff.ts';
import { MessageChanges } from '../messages/change-message.ts';
import { CONTENT_KEY_PURPOSE } from '../messages/content/message-content.ts';
import { TestInbox } from '../messages/test-inbox/test-inbox.ts';
import { Erasures } from '../privacy/erase-address.ts';
import { createAddressHash } from '../suppressions/erased-address.ts';
import { Suppressions } from '../suppressions/suppressions.ts';
import { TemplateCache } from '../templates/template-cache.ts';
import { Templates } from '../templates/templates.ts';
import { VERSION } from '../version.ts';
import { startBackgroundJobs } from './background-jobs.ts';
import {
  createAcceptor,
  createIdempotency,
  publishedLimits,
  sendLimits,
} from './build-accepting.ts';
import { openDelivery } from './build-delivery.ts';
import { returnPathKey } from './build-engine.ts';
import { openReturnPath, type ReturnPathNeeds, type ReturnPathPort } from './build-return-path.ts';
import { openSubmission, type Submission, type SubmissionNeeds } from './build-submission.ts';
import { createEventConsumers, type EventConsumersOptions } from './event-consumers.ts';
import { listenHttp, registerHealthAndMetrics } from './observability.ts';
import { createSystemMailer } from './system-mailer.ts';

/**
 * The one place where parts are built and joined. In comes the configuration, out goes a running
 * server that can be stopped; each part is handed just what it needs.
 */

export interface App extends AsyncDisposable {
  readonly http: FastifyInstance;
  /** Where HTTP is answered: the API, or health and figures alone; empty where nothing listens. */
  readonly address: string;
  readonly storage: Storage;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly people: People;
  readonly domains: Domains;
  readonly engine: Engine | undefined;
  readonly submission: Pick<Submission, 'port' | 'tlsPort' | 'settings' | 'renewCertificate'>;
  readonly returnPath: Pick<ReturnPathPort, 'place'>;
  /** Stops accepting, finishes what is on the wire, gives the rest back, leaves. */
  stop(): Promise<void>;
}

export interface AppOptions {
  config: Config;
  log: Log;
  /** Aborted when the start is no longer wanted. */
  signal?: AbortSignal;
  clock?: Clock;
  /** How live mail leaves, when not by the configured routes: tests say so. */
  liveRoute?: Transport;
  /** A module whose `around` is put around the live route: the benchmark compares without signing. */
  aroundLiveRoute?: URL;
  /** Limits of webhooks other than the standard ones: tests say so. */
  webhooks?: NonNullable<EventConsumersOptions['webhooks']>;
  /** Limits of event streams, likewise. */
  streams?: NonNullable<EventConsumersOptions['streams']>;
  /** Limits of the SMTP doors, likewise. */
  submission?: NonNullable<SubmissionNeeds['limits']>;
  returnPath?: NonNullable<ReturnPathNeeds['limits']>;
  /** How accepts share commits: the benchmark compares. */
  acceptGroup?: { itemsMax: number; inFlightMax: number };
  /** What hashing a password costs: tests make many people. */
  passwordCost?: PasswordCost;
}

/** What scripts/build-dashboard.ts makes. */
const DASHBOARD = path.resolve(import.meta.dirname, '../../dashboard/dist/app');

export async function buildApp(options: AppOptions): Promise<App> {
  // What was begun before a start failed must not be left running.
  const undo = new AsyncDisposableStack();
  try {
    return await build(options, undo);
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

async function build(options: AppOptions, undo: AsyncDisposableStack): Promise<App> {
  const { config, log, clock = systemClock } = options;
  let state: 'starting' | 'ready' | 'draining' = 'starting';
  const registry = createRegistry();

  const storage = await openStorage({
    ...config.storage,
    secretKey: config.secretKey,
    log,
    holder: 'server',
    ...(options.signal ? { signal: options.signal } : {}),
  });
  undo.defer(() => storage.stop());
  const { pool } = storage;
  await migrate(pool, log, options.signal ? { signal: options.signal } : {});
  await verifySecretKey(pool, storage.secretKey, { allowOther: config.allowOtherSecretKey });
  const retention = config.retention;
  const upkeep = await startPartitionMaintenance({ pool, clock, log, retention });
  undo.defer(() => upkeep.stop());
  const notices = listen({ hosts: storage.hosts, log });
  undo.defer(() => notices.stop());

  const workspaces = new Workspaces({ pool, clock });
  const apiKeys = new ApiKeys({ pool, clock });
  const noticesArrive = (): boolean => notices.connected;
  const authenticator = new Authenticator({ pool, clock, isListening: noticesArrive });
  const directory = new SenderDomainCache({ pool, clock, isListening: noticesArrive });
  const { domains, verifier } = createDomains({
    pool,
    clock,
    log,
    secretKey: storage.secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: config.domains,
  });
  const templateCache = new TemplateCache({ pool, clock, isListening: noticesArrive });
  const templates = new Templates({
    pool,
    clock,
    onChange: (workspaceId) => templateCache.forgetWorkspace(workspaceId),
  });
  notices.on('accounts', (workspaceId) => authenticator.invalidateWorkspace(workspaceId));
  notices.on('templates', (workspaceId) => templateCache.forgetWorkspace(workspaceId));
  notices.on('domains', (workspaceId) => directory.forgetWorkspace(workspaceId));
  notices.onGap(() => {
    authenticator.invalidateAll();
    directory.forgetAll();
    templateCache.forgetAll();
  });

  const telling = createEventConsumers({
    storage,
    notices,
    clock,
    log,
    config,
    ...(options.webhooks ? { webhooks: options.webhooks } : {}),
    ...(options.streams ? { streams: options.streams } : {}),
  });
  undo.defer(() => telling.stop(0));
  const sealer = createEncryptor(storage.secretKey, CONTENT_KEY_PURPOSE);
  const pathKey = returnPathKey(storage.secretKey);
  /** The doors open later; what leaves before then cannot meet them. */
  const ownPlaces = () =>
    [...submission.places, returnPath.place].filter((place) => place !== undefined);
  const delivery = await openDelivery({
    config,
    clock,
    log,
    storage,
    notices,
    ownPlaces,
    told: () => telling.notify(),
    ...(options.liveRoute ? { liveRoute: options.liveRoute } : {}),
    ...(options.aroundLiveRoute ? { aroundLiveRoute: options.aroundLiveRoute } : {}),
  });
  undo.defer(() => delivery.close());
  const { engine } = delivery;

  const limits = sendLimits(config);
  const handover = engine ?? noHandoff;
  const idempotency = createIdempotency(pool, clock, storage.secretKey);
  const contactLookup = new ContactLookup({ pool });
  const acceptor = createAcceptor({
    pool,
    clock,
    config,
    domains: directory,
    templates: templateCache,
    contacts: contactLookup,
    handover,
    idempotency,
    secretKey: storage.secretKey,
    ...(options.acceptGroup ? { group: options.acceptGroup } : {}),
  });
  const rateLimiter = new RateLimiter(config.limits.ratePerSecond, config.limits.rateBurst, clock);
  const submission = await openSubmission({
    config,
    clock,
    log,
    registry,
    acceptor,
    authenticator,
    rateLimiter,
    ...(options.submission ? { limits: options.submission } : {}),
  });
  const { baseUrl } = config.http;
  const document = (): object => openapiDocument(operations, { baseUrl, version: VERSION });
  const hash = createAddressHash(storage.secretKey);
  const suppressions = new Suppressions({ pool, clock, hash });
  const returnPath = await openReturnPath({
    config,
    clock,
    log,
    registry,
    pool,
    suppressions,
    returnPathKey: pathKey,
    onEventsAppended: () => telling.notify(),
    ...(options.returnPath ? { limits: options.returnPath } : {}),
  });
  const contacts = new Contacts({ pool, clock });
  const imports = new ContactImports({
    pool,
    clock,
    log,
    limits: importLimits(config.limits.requestBodyMaxBytes),
  });
  const erasures = new Erasures({
    pool,
    clock,
    log,
    suppressions,
    encryptor: sealer,
    withdraw: (workspaceId, mode, id) => handover.withdraw(workspaceId, mode, id),
  });
  const cookie = createSessionCookie(config.http.baseUrl);
  const people = createPeople({
    pool,
    clock,
    log,
    secretKey: storage.secretKey,
    sendSystemEmail: createSystemMailer({ acceptor, domains, log }),
    appUrl: config.http.baseUrl,
    workspacesMax: config.limits.workspacesMax,
    ...(options.passwordCost ? { passwordCost: options.passwordCost } : {}),
  });
  const operations = createOperations({
    pool,
    clock,
    acceptor,
    templates,
    templateCache,
    contactLookup,
    changes: new MessageChanges({ pool, clock, limits, handoff: handover }),
    inbox: new TestInbox({ pool, clock, encryptor: sealer }),
    idempotency,
    contacts,
    imports,
    erasures,
    suppressions,
    domains,
    ...telling.parts,
    apiKeys,
    people,
    cookie,
    limits: publishedLimits(config),
    smtpSettings: () => submission.settings(),
    baseUrl,
    batchMax: config.limits.batchMax,
    largeAnswers: new LargeResponseLimiter(),
    document,
  });
  const isApi = config.roles.has('api');
  const http = createHttpServer({
    operations: isApi ? operations : [],
    authenticator,
    sessions: people.sessions,
    cookie,
    rateLimiter,
    idempotency,
    clock,
    log,
    metrics: createHttpMetrics(registry),
    baseUrl,
    bodyBytesMax: config.limits.requestBodyMaxBytes,
    trustProxy: config.http.trustProxy.length > 0 ? [...config.http.trustProxy] : false,
    requestTimeoutMs: config.http.requestTimeoutMs,
    onChange: () => telling.notify(),
  });
  const door = createHttpListener(http);
  registerPages(http, (room) => {
    if (isApi) {
      telling.registerRoutes(room);
      registerDashboard(room, { folder: DASHBOARD });
      registerDocs(room, { document });
    }
    registerHealthAndMetrics(room, {
      registry,
      clock,
      state: () => state,
      pool,
      webhooksPool: telling.pool,
      acceptor,
      delivery,
      dispatcher: telling.dispatcher,
    });
  });

  const leaving = new AbortController();
  const rounds = startBackgroundJobs({
    pool,
    clock,
    log,
    authenticator,
    apiKeys,
    people,
    verifier,
    imports,
    erasures,
    suppressions,
    smtpPorts: [submission, returnPath],
    leaving: leaving.signal,
  });
  undo.defer(() => rounds.stop());

  await delivery.ready;
  // Unheld, or a start that fails below would end only when this has run out.
  await Promise.race([notices.ready, sleep(5_000, undefined, { ref: false })]);
  undo.defer(() => submission.drain(0));
  await submission.listen();
  undo.defer(() => returnPath.drain(0));
  await returnPath.listen();
  const address = await listenHttp(door, config, log);
  engine?.start();
  telling.start();
  state = 'ready';

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    state = 'draining';
    leaving.abort();
    erasures.stop();
    telling.closeStreams();
    const doorsMs = config.http.drainMs / 2;
    await Promise.all([door.drain(doorsMs), submission.drain(doorsMs), returnPath.drain(doorsMs)]);
    await people.resets.settled();
    await imports.stop();
    await acceptor.drained();
    await Promise.all([engine?.stop(config.http.drainMs), telling.stop(config.http.drainMs)]);
    await rounds.stop();
    await authenticator.flushLastUsed().catch(() => {});
    await notices.stop();
    await upkeep.stop();
    await delivery.close();
    await storage.stop();
  }
  return {
    http,
    address,
    storage,
    workspaces,
    apiKeys,
    people,
    domains,
    engine,
    submission,
    returnPath,
    stop: () => (stopping ??= stop()),
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  };
}
