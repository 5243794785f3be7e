import { createHmac, hkdfSync } from 'node:crypto';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { RateLimiter } from '../accounts/rate-limit.ts';
import type { InboundReports } from '../bounces/inbound-reports.ts';
import { compatSurfaces } from '../compat/compat-surfaces.ts';
import type { Config } from '../config/read-config.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { ReadReplica, Reads } from '../db/connections/read-replica.ts';
import type { StorageOutage } from '../db/connections/storage-outage.ts';
import { BatchSender } from '../http/batch-sender.ts';
import { checkBatch } from '../http/check-batch.ts';
import { registerDocs } from '../http/docs/docs-routes.ts';
import { createFileFetcher } from '../http/file-fetcher.ts';
import { getAttachment } from '../http/get-attachment.ts';
import { addCollectedMetric, createHttpMetrics } from '../http/observability/http-metrics.ts';
import { openapiDocument } from '../http/openapi/openapi-document.ts';
import type { Operation } from '../http/operation.ts';
import { createOperations } from '../http/operations.ts';
import { registerCellInboundMail } from '../http/pages/cell-inbound-mail.ts';
import { registerCellLookup } from '../http/pages/cell-lookup.ts';
import { registerCellReports } from '../http/pages/cell-reports.ts';
import { registerDashboard } from '../http/pages/dashboard-files.ts';
import { registerPages } from '../http/pages/register-pages.ts';
import { registerSingleSignOn } from '../http/pages/single-sign-on-endpoints.ts';
import { registerUnsubscribeEndpoints } from '../http/pages/unsubscribe-endpoints.ts';
import { previewContent } from '../http/preview-content.ts';
import type { ApiSurface } from '../http/server/api-surface.ts';
import { bodyChecker, operationCaller } from '../http/server/call-operation.ts';
import { createHttpListener, type HttpListener } from '../http/server/http-listener.ts';
import { createHttpServer } from '../http/server/http-server.ts';
import { LargeResponseLimiter } from '../http/server/large-response-limiter.ts';
import { mainSurface } from '../http/server/main-surface.ts';
import { createSessionCookie, type SessionCookie } from '../http/server/session-cookie.ts';
import type { Log } from '../lib/log.ts';
import { MemoryBudget } from '../lib/memory/memory-budget.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { RequestLog } from '../logs/request-log.ts';
import { VERSION } from '../version.ts';
import { createUnsubscribeLinks, publishedLimits } from './build-acceptor.ts';
import type { DeliveryRuntime } from './build-delivery.ts';
import type { Services } from './build-services.ts';
import type { Submission } from './build-submission.ts';
import type { EventConsumers } from './event-consumers.ts';
import { registerHealthAndMetrics } from './observability.ts';

/** Builds the HTTP server: API, dashboard and docs with the role `api`, health and metrics always. */
export interface HttpOptions {
  config: Config;
  clock: Clock;
  log: Log;
  registry: Registry;
  pool: Pool;
  reads: Reads;
  replica: ReadReplica | undefined;
  secretKey: Buffer;
  isSoleDeliverer: boolean;
  services: Services;
  consumers: EventConsumers;
  delivery: DeliveryRuntime;
  submission: Submission;
  outage: StorageOutage;
  reports: InboundReports;
  /** `ready`, or why the node is not ready. */
  state: () => string;
  /** Called after requests that may have appended events. */
  onChange: () => void;
}

/** The folder that contains `docs` and `sdk`, which the documentation is made from. */
const ROOT = path.resolve(import.meta.dirname, '../../..');
/** The output folder of scripts/build-dashboard.ts. */
const DASHBOARD = path.join(ROOT, 'dashboard/dist/app');

export function buildHttp(options: HttpOptions): { http: FastifyInstance; listener: HttpListener } {
  const { config, clock, log, registry, services, outage } = options;
  const { baseUrl, trustProxy, requestTimeoutMs } = config.http;
  const { ratePerSecond, rateBurst, requestBodyMaxBytes, requestBufferMaxBytes } = config.limits;
  const cookie = createSessionCookie(baseUrl);
  const bodyMemory = new MemoryBudget(requestBufferMaxBytes);
  addRequestMetrics(registry, bodyMemory, services.requestLog);
  const { surfaces, document } = createSurfaces(options, cookie, bodyMemory);
  const http = createHttpServer({
    surfaces,
    sessions: services.people.sessions,
    operatorKeys: services.operatorKeys,
    cookie,
    rateLimiter: services.rateLimiter,
    readRateLimiter: services.readRateLimiter,
    networkRateLimiter: new RateLimiter(ratePerSecond, rateBurst, clock),
    idempotency: services.idempotency,
    clock,
    log,
    metrics: createHttpMetrics(registry),
    requestLog: services.requestLog,
    auditLog: services.auditLog,
    outage,
    baseUrl,
    bodyBytesMax: requestBodyMaxBytes,
    bodyMemory,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    requestTimeoutMs,
    hasRouter: config.router.token !== undefined,
    onChange: options.onChange,
  });
  const listener = createHttpListener(http);
  registerPages(http, (pages) => {
    if (config.roles.has('api')) registerApiPages(pages, options, cookie, document);
    registerHealthAndMetrics(pages, { ...options, acceptor: services.acceptor });
  });
  return { http, listener };
}

function addRequestMetrics(
  registry: Registry,
  bodyMemory: MemoryBudget,
  requestLog: RequestLog,
): void {
  addCollectedMetric(registry, {
    name: 'postrider_request_buffer_bytes',
    help: 'Request bodies in memory that did not arrive in one piece.',
    type: 'gauge',
    read: () => bodyMemory.used,
  });
  addCollectedMetric(registry, {
    name: 'postrider_request_log_entries_total',
    help: 'Entries of the request log: written, left out as one of many successful requests (sampled), or dropped.',
    type: 'counter',
    read: () =>
      Object.entries(requestLog.counts).map(([result, value]) => ({ value, labels: { result } })),
  });
}

/** Our API and those of other providers, whose operations call ours, and the document of ours. */
function createSurfaces(
  options: HttpOptions,
  cookie: SessionCookie,
  bodyMemory: MemoryBudget,
): { surfaces: [ApiSurface, ...ApiSurface[]]; document: () => object } {
  const { config, clock, pool, services, consumers } = options;
  const { baseUrl, attachmentUrls } = config.http;
  const { batchMax, requestBodyMaxBytes: bodyBytesMax } = config.limits;
  const batchSender = new BatchSender(services);
  const largeAnswers = new LargeResponseLimiter();
  const operations: Operation[] = createOperations({
    ...services,
    ...consumers.routes,
    pool,
    reads: options.reads,
    clock,
    cookie,
    limits: publishedLimits(config),
    smtpSettings: () => options.submission.settings(),
    baseUrl,
    batchMax,
    deletionMs: config.deletionMs,
    isSoleDeliverer: options.isSoleDeliverer,
    batchSender,
    bodyBytesMax,
    largeAnswers,
    filteredLists: new LargeResponseLimiter(1),
    // The document is an operation too, and describes all of them.
    document: () => document(),
  });
  const document = (): object => openapiDocument(operations, { baseUrl, version: VERSION });
  const main = mainSurface(operations, services.authenticator);
  if (!config.roles.has('api')) return { surfaces: [{ ...main, operations: [] }], document };
  const internal = [
    checkBatch({ batchSender }),
    previewContent({ clock }),
    getAttachment({ contents: services.contents, largeAnswers }),
  ];
  const compat = compatSurfaces(
    {
      call: operationCaller([...operations, ...internal], services, services.auditLog),
      checkBody: bodyChecker(operations),
      authenticator: services.authenticator,
      clock,
      bodyBytesMax,
      batchMax,
      fetchFile: attachmentUrls
        ? createFileFetcher({ ...consumers.webhookTargets, memory: bodyMemory })
        : undefined,
      sign: linkSigner(options.secretKey),
      baseUrl,
    },
    { baseUrl, version: VERSION },
  );
  return { surfaces: [main, ...compat], document };
}

function registerApiPages(
  pages: FastifyInstance,
  options: HttpOptions,
  sessionCookie: SessionCookie,
  document: () => object,
): void {
  const { config, log, pool, services, consumers, secretKey, reports } = options;
  const routerToken = config.router.token;
  consumers.registerPublicEndpoints(pages);
  registerUnsubscribeEndpoints(pages, services);
  registerSingleSignOn(pages, { ...services, sessionCookie, baseUrl: config.http.baseUrl, log });
  registerDashboard(pages, { folder: DASHBOARD });
  registerDocs(pages, { document, root: ROOT });
  if (routerToken === undefined) return;
  const { inboundReceiver: inbound } = services;
  registerCellReports(pages, { routerToken, reports });
  registerCellInboundMail(pages, { routerToken, inbound });
  registerCellLookup(pages, {
    routerToken,
    reports,
    inbound,
    pool,
    unsubscribeLinks: createUnsubscribeLinks(config, secretKey),
    webhooks: consumers.routes.webhooks,
  });
}

function linkSigner(secretKey: Buffer): (text: string) => Buffer {
  const key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'compat links', 32));
  return (text) => createHmac('sha256', key).update(text).digest();
}
