import { hostname } from 'node:os';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { ApiKeys } from './accounts/api-keys.ts';
import { Authenticator } from './accounts/authenticate.ts';
import type { PasswordCost } from './accounts/people/passwords.ts';
import { openPeople, type People } from './accounts/people/people.ts';
import { RateLimiter } from './accounts/rate-limit.ts';
import { Workspaces } from './accounts/workspaces.ts';
import { createLiveRoute } from './assemble-delivery.ts';
import { openTelling, type TellingOptions } from './assemble-telling.ts';
import { type Clock, systemClock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import { Rounds } from './base/rounds.ts';
import { createSealer } from './base/sealer.ts';
import type { Config } from './config/read-config.ts';
import { ContactLookup } from './contacts/contact-lookup.ts';
import { openContacts } from './contacts/open-contacts.ts';
import type { Route } from './delivery/delivery.ts';
import { openDeliveryStore } from './delivery/delivery-store.ts';
import { createEngine, type Engine } from './delivery/engine.ts';
import { simulatorRoute } from './delivery/simulator.ts';
import { DomainDirectory } from './domains/domain-directory.ts';
import type { Domains } from './domains/domains.ts';
import { openDomains } from './domains/open-domains.ts';
import { addApp } from './doors/http/app-files.ts';
import { addDocs } from './doors/http/docs/add-docs.ts';
import { addHealth } from './doors/http/health.ts';
import { createHttpServer } from './doors/http/http-server.ts';
import { createHttpMetrics, createRegistry, gauge } from './doors/http/metrics.ts';
import { openapiDocument } from './doors/http/openapi.ts';
import type { PublishedLimits } from './doors/http/operations/get-limits.ts';
import { allOperations } from './doors/http/operations.ts';
import { sessionCookie } from './doors/http/session-cookie.ts';
import { MessageAcceptor } from './messages/accept-message.ts';
import { IDEMPOTENCY_MS } from './messages/accept-store.ts';
import { MessageChanges } from './messages/change-message.ts';
import { type Handover, noHandover } from './messages/handover.ts';
import { Idempotency } from './messages/idempotency.ts';
import { deleteOldKeys } from './messages/idempotency-store.ts';
import type { SendLimits } from './messages/limits.ts';
import { CONTENT_PURPOSE, openContent } from './messages/sealed-content.ts';
import { forgetSealed } from './messages/sealed-content-store.ts';
import { TestInbox } from './messages/test-inbox.ts';
import { createOwnPost } from './own-post.ts';
import { databaseAnswers } from './storage/database-answers.ts';
import { listen } from './storage/listen.ts';
import { migrate } from './storage/migrate.ts';
import { openStorage, type Storage } from './storage/open-storage.ts';
import { openPool, type Pool } from './storage/pool.ts';
import { startUpkeep } from './storage/upkeep.ts';
import { createAddressHash } from './suppressions/address-hash.ts';
import { Suppressions } from './suppressions/suppressions.ts';
import { TemplateDirectory } from './templates/template-directory.ts';
import { Templates } from './templates/templates.ts';
import { VERSION } from './version.ts';

/**
 * The one place where parts are built and joined. In comes the configuration, out goes a running
 * server that can be stopped; each part is handed just what it needs.
 */

export interface App extends AsyncDisposable {
  readonly http: FastifyInstance;
  /** Where the API answers; set once it listens. */
  readonly address: string;
  readonly storage: Storage;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly people: People;
  readonly domains: Domains;
  readonly engine: Engine | undefined;
  /** Stops accepting, finishes what is on the wire, gives the rest back, leaves. */
  stop(): Promise<void>;
}

export interface AssembleOptions {
  config: Config;
  log: Log;
  clock?: Clock;
  /** How live mail leaves, when not by the configured routes: tests say so. */
  liveRoute?: Route;
  /** Puts something around the live route: the benchmark compares with servers that do not sign. */
  aroundLiveRoute?: (route: Route) => Route;
  /** Limits of webhooks other than the standard ones: tests say so. */
  webhooks?: NonNullable<TellingOptions['webhooks']>;
  /** Limits of event streams, likewise. */
  streams?: NonNullable<TellingOptions['streams']>;
  /** How accepts share commits: the benchmark compares. */
  acceptGroup?: { itemsMax: number; inFlightMax: number };
  /** What hashing a password costs: tests make many people. */
  passwordCost?: PasswordCost;
}

/** What scripts/build-dashboard.ts makes. */
const DASHBOARD = path.resolve(import.meta.dirname, '../../dashboard/dist/app');
const SWEEP_MS = 10_000;
const EXPIRY_ROUND_MS = 600_000;
const RESUME_MS = 2_000;
const FORGET_MS = 60_000;
const FORGOTTEN_MAX = 500;
const SWEPT_KEYS_MAX = 5_000;

export async function assemble(options: AssembleOptions): Promise<App> {
  // What was begun before a start failed must not be left running.
  const undo = new AsyncDisposableStack();
  try {
    return await build(options, undo);
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

async function build(options: AssembleOptions, undo: AsyncDisposableStack): Promise<App> {
  const { config, log, clock = systemClock } = options;
  let state: 'starting' | 'ready' | 'draining' = 'starting';
  const registry = createRegistry();

  const storage = await openStorage({
    ...config.storage,
    secretKey: config.secretKey,
    log,
    holder: 'server',
  });
  undo.defer(() => storage.stop());
  const { pool } = storage;
  await migrate(pool, log);
  const retention = config.retention;
  const upkeep = await startUpkeep({ pool, clock, log, retention });
  undo.defer(() => upkeep.stop());
  const notices = listen({ places: storage.places, log });
  undo.defer(() => notices.stop());

  const workspaces = new Workspaces({ pool, clock });
  const apiKeys = new ApiKeys({ pool, clock });
  const noticesArrive = (): boolean => notices.connected;
  const authenticator = new Authenticator({ pool, clock, noticesArrive });
  const directory = new DomainDirectory({ pool, clock, noticesArrive });
  const { domains, verifier, signingKeys } = openDomains({
    pool,
    clock,
    log,
    secretKey: storage.secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: config.domains,
    noticesArrive,
  });
  const templateDirectory = new TemplateDirectory({ pool, clock, noticesArrive });
  const templates = new Templates({
    pool,
    clock,
    changed: (workspaceId) => templateDirectory.forgetWorkspace(workspaceId),
  });
  notices.on('accounts', (workspaceId) => authenticator.forgetWorkspace(workspaceId));
  notices.on('templates', (workspaceId) => templateDirectory.forgetWorkspace(workspaceId));
  notices.on('domains', (workspaceId) => {
    directory.forgetWorkspace(workspaceId);
    signingKeys.forgetWorkspace(workspaceId);
  });
  notices.onGap(() => {
    authenticator.forgetAll();
    directory.forgetAll();
    signingKeys.forgetAll();
    templateDirectory.forgetAll();
  });

  const telling = openTelling({
    storage,
    notices,
    clock,
    log,
    config,
    ...(options.webhooks ? { webhooks: options.webhooks } : {}),
    ...(options.streams ? { streams: options.streams } : {}),
  });
  const deliveryPool = config.roles.has('delivery')
    ? openPool({ places: storage.places, log, max: 6, applicationName: 'postrider delivery' })
    : undefined;
  const sealer = createSealer(storage.secretKey, CONTENT_PURPOSE);
  const around = options.aroundLiveRoute ?? ((route) => route);
  const engine =
    deliveryPool &&
    createEngine({
      store: telling.tellingOf(
        openDeliveryStore(deliveryPool, (sealed) => openContent(sealer, sealed)),
      ),
      clock,
      routes: {
        live:
          options.liveRoute ??
          around(createLiveRoute({ config, clock, signingKeys, secretKey: storage.secretKey })),
        test: simulatorRoute(clock),
      },
      log,
      nodeName: `${hostname()}/${process.pid}`,
      limits: {
        leaseMs: config.delivery.leaseMs,
        windowMs: config.delivery.retryWindowMs,
        backoff: config.delivery.backoff,
        wireMax: config.delivery.concurrency,
      },
    });
  if (engine) {
    notices.on('deliveries', () => engine.wake());
    notices.onGap(() => engine.wake());
  }

  const limits = sendLimits(config);
  const handover = engine ?? noHandover;
  const idempotency = createIdempotency(pool, clock, storage.secretKey);
  const contactLookup = new ContactLookup({ pool });
  const acceptor = createAcceptor({
    pool,
    clock,
    config,
    domains: directory,
    templates: templateDirectory,
    contacts: contactLookup,
    handover,
    idempotency,
    secretKey: storage.secretKey,
    ...(options.acceptGroup ? { group: options.acceptGroup } : {}),
  });
  const { baseUrl } = config.http;
  const document = (): object => openapiDocument(operations, { baseUrl, version: VERSION });
  const hash = createAddressHash(storage.secretKey);
  const suppressions = new Suppressions({ pool, clock, hash });
  const { contacts, imports, erasures } = openContacts({
    pool,
    clock,
    log,
    suppressions,
    sealer,
    bodyBytesMax: config.limits.requestBodyMaxBytes,
    withdraw: (workspaceId, mode, id) => handover.withdraw(workspaceId, mode, id),
  });
  const cookie = sessionCookie(config.http.baseUrl);
  const people = openPeople({
    pool,
    clock,
    log,
    secretKey: storage.secretKey,
    post: createOwnPost({ acceptor, domains, log }),
    appUrl: config.http.baseUrl,
    ...(options.passwordCost ? { passwordCost: options.passwordCost } : {}),
  });
  const operations = allOperations({
    pool,
    clock,
    acceptor,
    templates,
    templateDirectory,
    contactLookup,
    changes: new MessageChanges({ pool, clock, limits, handover }),
    inbox: new TestInbox({ pool, clock, sealer }),
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
    baseUrl,
    batchMax: config.limits.batchMax,
    document,
  });
  const http = createHttpServer({
    operations,
    authenticator,
    sessions: people.sessions,
    cookie,
    rateLimiter: new RateLimiter(config.limits.ratePerSecond, config.limits.rateBurst, clock),
    idempotency,
    clock,
    log,
    metrics: createHttpMetrics(registry),
    baseUrl,
    bodyBytesMax: config.limits.requestBodyMaxBytes,
    trustProxy: config.http.trustProxy.length > 0 ? [...config.http.trustProxy] : false,
    requestTimeoutMs: config.http.requestTimeoutMs,
  });
  telling.listenTo(http);
  addApp(http, { folder: DASHBOARD });
  addDocs(http, { document });
  addHealth(http, {
    registry,
    notReady: async () => {
      if (state !== 'ready') return state;
      const answers = await databaseAnswers(pool);
      return answers ? undefined : 'the database cannot be reached';
    },
  });
  gauge(registry, 'accept_waiting', 'Sends that wait for their commit.', () => acceptor.waiting);
  if (engine) addEngineMetrics(registry, engine);

  const leaving = new AbortController();
  const rounds = new Rounds({ clock, log });
  rounds.every(SWEEP_MS, 'write when keys were used', () => authenticator.writeUse());
  rounds.every(EXPIRY_ROUND_MS, 'tell of keys that expire', () => apiKeys.tellExpiring());
  rounds.every(EXPIRY_ROUND_MS, 'forget ended sessions', () => people.sweep());
  rounds.every(SWEEP_MS, 'verify domains', () => verifier.verifyDue(leaving.signal));
  rounds.every(RESUME_MS, 'go on with imports', () => imports.work());
  rounds.every(RESUME_MS, 'go on with erasures', () => erasures.work());
  rounds.every(SWEEP_MS, 'end suppressions', () => suppressions.endExpired());
  rounds.every(EXPIRY_ROUND_MS, 'forget old imports', () => imports.sweep());
  rounds.every(FORGET_MS, 'forget secrets of finished messages', async () => {
    while ((await forgetSealed(pool, clock.now(), FORGOTTEN_MAX)) === FORGOTTEN_MAX) {
      if (state === 'draining') return;
    }
  });
  rounds.every(SWEEP_MS, 'forget old idempotency keys', async () => {
    while (await deleteOldKeys(pool, clock.now(), SWEPT_KEYS_MAX)) {
      if (state === 'draining') return;
    }
  });

  await Promise.race([notices.ready, new Promise((resolve) => setTimeout(resolve, 5_000))]);
  const address = config.roles.has('api')
    ? await http.listen({ host: config.http.host, port: config.http.port })
    : '';
  engine?.start();
  telling.start();
  state = 'ready';

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    state = 'draining';
    leaving.abort();
    erasures.stop();
    telling.closeStreams();
    await http.close();
    await people.resets.settled();
    await imports.stop();
    await acceptor.drained();
    await Promise.all([engine?.stop(config.http.drainMs), telling.stop(config.http.drainMs)]);
    await rounds.stop();
    await authenticator.writeUse().catch(() => {});
    await notices.stop();
    await upkeep.stop();
    await deliveryPool?.end();
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
    stop: () => (stopping ??= stop()),
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  };
}

export function createIdempotency(pool: Pool, clock: Clock, secretKey: Buffer): Idempotency {
  return new Idempotency({ pool, clock, sealer: createSealer(secretKey, 'idempotency') });
}

export interface AcceptorNeeds {
  pool: Pool;
  clock: Clock;
  config: Config;
  domains: DomainDirectory;
  templates: TemplateDirectory;
  contacts: ContactLookup;
  handover: Handover;
  idempotency: Idempotency;
  secretKey: Buffer;
  group?: { itemsMax: number; inFlightMax: number };
}

/** The front half of the house, for the server and for the command that sends without one. */
export function createAcceptor(needs: AcceptorNeeds): MessageAcceptor {
  const { pool, clock, config, domains, templates, contacts, handover, idempotency } = needs;
  return new MessageAcceptor({
    pool,
    clock,
    limits: sendLimits(config),
    handover,
    idempotency,
    senderDomain: (workspaceId, name) => domains.find(workspaceId, name),
    contact: (workspaceId, mode, key) => contacts.contactFor(workspaceId, mode, key),
    templates,
    sealer: createSealer(needs.secretKey, CONTENT_PURPOSE),
    addressHash: createAddressHash(needs.secretKey),
    group: {
      itemsMax: 128,
      inFlightMax: 2,
      ...needs.group,
      bytesMax: 4 * 1024 * 1024,
      waitingMax: config.limits.acceptBufferMaxMessages,
      waitingBytesMax: config.limits.acceptBufferMaxBytes,
    },
  });
}

function sendLimits({ limits, delivery }: Config): SendLimits {
  return {
    messageBytesMax: limits.messageMaxBytes,
    htmlBytesMax: limits.contentMaxBytes,
    textBytesMax: limits.contentMaxBytes,
    subjectBytesMax: limits.subjectMaxBytes,
    recipientsMax: limits.recipientsMax,
    headersMax: limits.headersMax,
    headerBytesMax: limits.headerMaxBytes,
    batchMax: limits.batchMax,
    scheduleAheadMs: limits.scheduleMaxMs,
    retryWindowMs: delivery.retryWindowMs,
  };
}

function publishedLimits({ limits, delivery, retention }: Config): PublishedLimits {
  return {
    requests_per_second: limits.ratePerSecond,
    requests_burst: limits.rateBurst,
    request_body_bytes: limits.requestBodyMaxBytes,
    message_bytes: limits.messageMaxBytes,
    html_bytes: limits.contentMaxBytes,
    text_bytes: limits.contentMaxBytes,
    subject_bytes: limits.subjectMaxBytes,
    recipients: limits.recipientsMax,
    batch_messages: limits.batchMax,
    headers: limits.headersMax,
    header_bytes: limits.headerMaxBytes,
    metadata_pairs: 20,
    tags: 10,
    schedule_ahead_seconds: limits.scheduleMaxMs / 1000,
    retry_window_seconds: delivery.retryWindowMs / 1000,
    idempotency_seconds: IDEMPOTENCY_MS / 1000,
    content_retention_days: retention.contentDays,
    record_retention_days: retention.recordDays,
  };
}

function addEngineMetrics(registry: ReturnType<typeof createRegistry>, engine: Engine): void {
  for (const name of Object.keys(engine.stats) as (keyof Engine['stats'])[]) {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    gauge(
      registry,
      `delivery_${snake}`,
      `Delivery engine: ${snake.replaceAll('_', ' ')}.`,
      () => engine.stats[name],
    );
  }
}
