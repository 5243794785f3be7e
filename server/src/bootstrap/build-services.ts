import { ApiKeys } from '../accounts/api-keys.ts';
import { Authenticator } from '../accounts/authenticate.ts';
import { OperatorKeys } from '../accounts/operator-keys.ts';
import type { PasswordCost } from '../accounts/people/passwords.ts';
import { createPeople, type People } from '../accounts/people/people.ts';
import type { SendSystemEmail } from '../accounts/people/system-emails.ts';
import { RateLimiter, type WorkspaceLimiters } from '../accounts/rate-limit.ts';
import { SES_ENCRYPTION_PURPOSE, SesCredentials } from '../accounts/ses-credentials.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import type { Config } from '../config/read-config.ts';
import { ContactImports, importLimits } from '../contacts/contact-imports.ts';
import { ContactLookup } from '../contacts/contact-lookup.ts';
import { ContactSubscriptions } from '../contacts/contact-subscriptions.ts';
import { Contacts } from '../contacts/contacts.ts';
import type { NotificationListener } from '../db/connections/listen.ts';
import type { Storage } from '../db/open-storage.ts';
import { createDomains } from '../domains/create-domains.ts';
import type { DomainVerifier } from '../domains/domain-verifier.ts';
import type { Domains } from '../domains/domains.ts';
import { PerWorkspaceResolver } from '../domains/per-workspace-resolver.ts';
import { ReceivingDomainCache } from '../domains/receiving-domain-cache.ts';
import { SenderDomainCache } from '../domains/sender-domain-cache.ts';
import { createProviderAccess } from '../http/provider-access.ts';
import { bodyValidator } from '../http/validation/schema-validator.ts';
import { InboundMessages } from '../inbound/inbound-messages.ts';
import { type InboundLimits, InboundReceiver } from '../inbound/inbound-receiver.ts';
import { InboundSimulator } from '../inbound/inbound-simulator.ts';
import { createEncryptor, type Encryptor } from '../lib/crypto/encryption.ts';
import type { Log } from '../lib/log.ts';
import { openBucket } from '../lib/object-bucket.ts';
import type { Clock } from '../lib/time/clock.ts';
import { AuditLog } from '../logs/audit-log.ts';
import { RequestLog } from '../logs/request-log.ts';
import { MailAuthenticator } from '../mail/authentication/authenticate-mail.ts';
import type { GenerateDkimKeys } from '../mail/dkim/keys.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import type { DeliveryHandoff } from '../messages/accept/delivery-handoff.ts';
import type { Idempotency } from '../messages/accept/idempotency.ts';
import { SendMessage } from '../messages/accept/send-request.ts';
import { ContentArchive } from '../messages/archive/content-archive.ts';
import { MessageChanges } from '../messages/change-message.ts';
import { CONTENT_KEY_PURPOSE } from '../messages/content/message-content.ts';
import { MailAcceptor } from '../messages/mime/mail-acceptor.ts';
import { TestInbox } from '../messages/test-inbox/test-inbox.ts';
import { Erasures } from '../privacy/erase-address.ts';
import { WorkspacePurges } from '../privacy/workspace-purges.ts';
import { createQuotas, type QuotaServices } from '../quotas/create-quotas.ts';
import { StreamCache } from '../streams/stream-cache.ts';
import { Streams } from '../streams/streams.ts';
import { createAddressHash } from '../suppressions/erased-address.ts';
import { StreamSuppressions } from '../suppressions/stream-suppressions.ts';
import { Suppressions } from '../suppressions/suppressions.ts';
import { TemplateCache } from '../templates/template-cache.ts';
import { Templates } from '../templates/templates.ts';
import { Unsubscribes } from '../unsubscribe/unsubscribes.ts';
import {
  type AcceptGroup,
  createAcceptor,
  createIdempotency,
  createUnsubscribeLinks,
  sendLimits,
} from './build-acceptor.ts';
import type { EventConsumers } from './event-consumers.ts';
import { createSystemMailer } from './system-mailer.ts';

/** The modules behind the API, which the HTTP and SMTP servers and the background jobs use. */
export interface Services extends WorkspaceLimiters {
  workspaces: Workspaces;
  apiKeys: ApiKeys;
  operatorKeys: OperatorKeys;
  sesCredentials: SesCredentials;
  authenticator: Authenticator;
  people: People;
  domains: Domains;
  verifier: DomainVerifier;
  templates: Templates;
  templateCache: TemplateCache;
  streams: Streams;
  contacts: Contacts;
  subscriptions: ContactSubscriptions;
  contactLookup: ContactLookup;
  imports: ContactImports;
  erasures: Erasures;
  purges: WorkspacePurges;
  suppressions: Suppressions;
  acceptor: MessageAcceptor;
  mailAcceptor: MailAcceptor;
  mailParser: MailParser;
  mailAuthenticator: MailAuthenticator;
  inboundReceiver: InboundReceiver;
  inboundSimulator: InboundSimulator;
  receivingDomains: ReceivingDomainCache;
  inboundMessages: InboundMessages;
  idempotency: Idempotency;
  changes: MessageChanges;
  inbox: TestInbox;
  contents: ContentArchive;
  requestLog: RequestLog;
  auditLog: AuditLog;
  unsubscribes: Unsubscribes;
  workspaceQuotas: QuotaServices['workspaceQuotas'];
  messageQuotas: QuotaServices['messageQuotas'];
  publishQuotaNotices: QuotaServices['publishQuotaNotices'];
  workspaceBrakes: QuotaServices['workspaceBrakes'];
}

export interface ServicesOptions {
  config: Config;
  clock: Clock;
  log: Log;
  storage: Storage;
  notifications: NotificationListener;
  handoff: DeliveryHandoff;
  onEventsAppended: () => void;
  acceptGroup?: AcceptGroup | undefined;
  passwordCost?: PasswordCost | undefined;
  generateDkimKeys?: GenerateDkimKeys | undefined;
  inbound?: Partial<InboundLimits> | undefined;
  /** Shared by all that read mail, because of its threads. */
  mailParser: MailParser;
  /** What requests to hosts that a tenant has chosen must pass. */
  webhookTargets: EventConsumers['webhookTargets'];
}

export function buildServices(options: ServicesOptions): Services {
  const { config, clock, log, storage, handoff, onEventsAppended, mailParser } = options;
  const { pool, secretKey } = storage;
  const caches = createCaches(options);
  const { templateCache, streamCache } = caches;
  const { contactQuota, contentQuota, sendQuotas, ...quotas } = createQuotas({
    pool,
    clock,
    brake: config.brake,
    contentDays: config.retention.contentDays,
    notifications: options.notifications,
    onEventsAppended,
  });
  const { domains, verifier } = createDomains({
    pool,
    clock,
    log,
    secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: config.domains,
    generateDkimKeys: options.generateDkimKeys,
  });
  const recipients = createRecipients(options, streamCache, contactQuota);
  const messages = createMessages(
    options,
    caches,
    recipients.contactLookup,
    sendQuotas,
    mailParser,
  );
  const sendSystemEmail = createSystemMailer({ acceptor: messages.acceptor, domains, log });
  const requestLog = new RequestLog({ pool, clock, log });
  const { ratePerSecond, rateBurst } = config.limits;
  const rateLimiter = () =>
    new RateLimiter(ratePerSecond, rateBurst, clock, (id) =>
      // Also called with the ids of people and operator keys, which have no quotas.
      quotas.messageQuotas.requestsPerSecondOf(id),
    );
  return {
    ...createAccounts(options, caches.authenticator, sendSystemEmail),
    rateLimiter: rateLimiter(),
    readRateLimiter: rateLimiter(),
    domains,
    verifier,
    templates: new Templates({
      pool,
      clock,
      onChange: (workspaceId) => templateCache.invalidateWorkspace(workspaceId),
    }),
    templateCache,
    streams: new Streams({
      pool,
      clock,
      routes: Object.keys(config.delivery.streamRoutes),
      onChange: (workspaceId) => streamCache.invalidateWorkspace(workspaceId),
    }),
    ...recipients,
    ...messages,
    mailParser,
    ...createInbound(options, caches, domains, contentQuota),
    receivingDomains: caches.receivingDomains,
    erasures: new Erasures({
      pool,
      clock,
      log,
      suppressions: recipients.suppressions,
      encryptor: createEncryptor(secretKey, CONTENT_KEY_PURPOSE),
      withdraw: (workspaceId, mode, id) => handoff.withdraw(workspaceId, mode, id),
      flushRequestLog: () => requestLog.flush(),
    }),
    purges: new WorkspacePurges({ pool, clock, log }),
    requestLog,
    auditLog: new AuditLog({ pool, clock, log }),
    ...quotas,
  };
}

type Caches = ReturnType<typeof createCaches>;

/** Caches that other nodes invalidate through notifications. */
function createCaches({ clock, storage, notifications }: ServicesOptions) {
  const options = { pool: storage.pool, clock, maxAgeMs: () => notifications.cacheMaxAgeMs };
  const authenticator = new Authenticator({ ...options, encryptor: sesEncryptor(storage) });
  const senderDomains = new SenderDomainCache(options);
  const receivingDomains = new ReceivingDomainCache(options);
  const templateCache = new TemplateCache(options);
  const streamCache = new StreamCache(options);
  notifications.on('accounts', (workspaceId) => authenticator.invalidateWorkspace(workspaceId));
  notifications.on('domains', (workspaceId) => {
    senderDomains.invalidateWorkspace(workspaceId);
    receivingDomains.invalidateWorkspace(workspaceId);
  });
  notifications.on('templates', (workspaceId) => templateCache.invalidateWorkspace(workspaceId));
  notifications.on('streams', (workspaceId) => streamCache.invalidateWorkspace(workspaceId));
  notifications.onGap(() => {
    authenticator.invalidateAll();
    senderDomains.invalidateAll();
    receivingDomains.invalidateAll();
    templateCache.invalidateAll();
    streamCache.invalidateAll();
  });
  return { authenticator, senderDomains, receivingDomains, templateCache, streamCache };
}

/** Whom mail is sent to, and who no longer wants any. */
function createRecipients(
  options: ServicesOptions,
  streamCache: StreamCache,
  contactQuota: QuotaServices['contactQuota'],
) {
  const { config, clock, log, storage, onEventsAppended } = options;
  const { pool, secretKey } = storage;
  const addressHash = createAddressHash(secretKey);
  const suppressions = new Suppressions({ pool, clock, hash: addressHash });
  const streamSuppressions = new StreamSuppressions({ pool, clock, hash: addressHash });
  const streams = (workspaceId: string) => streamCache.all(workspaceId);
  const subscriptions = new ContactSubscriptions({
    clock,
    suppressions: streamSuppressions,
    streams,
  });
  const contactLookup = new ContactLookup({ pool });
  return {
    suppressions,
    contacts: new Contacts({ pool, clock, subscriptions, contactQuota }),
    subscriptions,
    contactLookup,
    imports: new ContactImports({
      pool,
      clock,
      log,
      limits: importLimits(config.limits.requestBodyMaxBytes),
      subscriptions,
      contactQuota,
    }),
    unsubscribes: new Unsubscribes({
      pool,
      clock,
      links: createUnsubscribeLinks(config, secretKey),
      addressHash,
      suppressions,
      streamSuppressions,
      choices: subscriptions,
      streams,
      contact: (workspaceId, mode, key) => contactLookup.contactFor(workspaceId, mode, key),
      onEventsAppended,
    }),
  };
}

const mailShape = bodyValidator(SendMessage);

/** Accepting, changing and reading messages. */
function createMessages(
  options: ServicesOptions,
  caches: Caches,
  contacts: ContactLookup,
  quotas: QuotaServices['sendQuotas'],
  parser: MailParser,
) {
  const { config, clock, log, storage, handoff } = options;
  const { pool, secretKey } = storage;
  const { contentBucket } = config;
  const bucket = contentBucket && openBucket(contentBucket);
  const contents = new ContentArchive({ pool, clock, log, bucket });
  const idempotency = createIdempotency(pool, clock, secretKey);
  const acceptor = createAcceptor({
    pool,
    clock,
    config,
    domains: caches.senderDomains,
    templates: caches.templateCache,
    streams: caches.streamCache,
    contacts,
    handoff,
    idempotency,
    secretKey,
    quotas,
    group: options.acceptGroup,
  });
  return {
    acceptor,
    mailAcceptor: new MailAcceptor({
      acceptor,
      idempotency,
      parser,
      checkShape: (body) => mailShape.check(body),
    }),
    idempotency,
    changes: new MessageChanges({ pool, clock, limits: sendLimits(config), handoff, contents }),
    inbox: new TestInbox({
      pool,
      clock,
      encryptor: createEncryptor(secretKey, CONTENT_KEY_PURPOSE),
      contents,
    }),
    contents,
  };
}

/** Concurrent lookups for all inbound mail, whose senders choose the names. */
const INBOUND_DNS_CONCURRENCY_MAX = 64;
const INBOUND_DNS_CACHE_BYTES_MAX = 16 * 1024 * 1024;

/** Mail for the domains of workspaces. */
function createInbound(
  options: ServicesOptions,
  caches: Caches,
  domains: Domains,
  contentQuota: QuotaServices['contentQuota'],
) {
  const { config, clock, log, storage, mailParser: parser, onEventsAppended } = options;
  const { pool } = storage;
  const resolver = createResolver({
    clock,
    inFlightMax: INBOUND_DNS_CONCURRENCY_MAX,
    cacheBytesMax: INBOUND_DNS_CACHE_BYTES_MAX,
    servers: config.delivery.dnsServers,
  });
  const mailAuthenticator = new MailAuthenticator({ clock });
  const inboundReceiver = new InboundReceiver({
    ...{ pool, clock, log, parser, onEventsAppended },
    authenticator: mailAuthenticator,
    resolvers: new PerWorkspaceResolver(resolver, INBOUND_DNS_CONCURRENCY_MAX),
    domains: caches.receivingDomains,
    contentQuota,
    hostname: config.delivery.heloName,
    limits: options.inbound,
  });
  return {
    mailAuthenticator,
    inboundReceiver,
    inboundSimulator: new InboundSimulator({
      ...{ pool, clock, domains },
      receiver: inboundReceiver,
      limits: sendLimits(config),
    }),
    inboundMessages: new InboundMessages({ pool, parser }),
  };
}

/** Workspaces, and who may act in them: programs with keys, and people who sign in. */
function createAccounts(
  options: ServicesOptions,
  authenticator: Authenticator,
  sendSystemEmail: SendSystemEmail,
) {
  const { config, clock, log, storage, passwordCost } = options;
  const { pool, secretKey } = storage;
  const apiKeys = new ApiKeys({
    pool,
    clock,
    onChange: (workspaceId) => authenticator.invalidateWorkspace(workspaceId),
  });
  return {
    workspaces: new Workspaces({ pool, clock }),
    apiKeys,
    operatorKeys: new OperatorKeys({ pool, clock }),
    sesCredentials: new SesCredentials({ pool, clock, apiKeys, encryptor: sesEncryptor(storage) }),
    authenticator,
    people: createPeople({
      pool,
      clock,
      log,
      secretKey,
      sendSystemEmail,
      appUrl: config.http.baseUrl,
      workspacesMax: config.limits.workspacesMax,
      deletionMs: config.deletionMs,
      accessProvider: createProviderAccess(options.webhookTargets),
      serverProvider: config.singleSignOn,
      ...(passwordCost ? { passwordCost } : {}),
    }),
  };
}

function sesEncryptor({ secretKey }: Storage): Encryptor {
  return createEncryptor(secretKey, SES_ENCRYPTION_PURPOSE);
}
