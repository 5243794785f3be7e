import { createHmac, hkdfSync } from 'node:crypto';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { RateLimiter } from '../accounts/rate-limit.ts';
import { compatSurfaces } from '../compat/compat-surfaces.ts';
import type { Config } from '../config/read-config.ts';
import type { Pool } from '../db/pool.ts';
import type { ReadReplica, Reads } from '../db/read-replica.ts';
import type { StorageOutage } from '../db/storage-outage.ts';
import { BatchSender } from '../http/batch-sender.ts';
import { checkBatch } from '../http/check-batch.ts';
import { registerDocs } from '../http/docs/docs-routes.ts';
import { createFileFetcher } from '../http/file-fetcher.ts';
import { getAttachment } from '../http/get-attachment.ts';
import { addCollectedMetric, createHttpMetrics } from '../http/observability/http-metrics.ts';
import { openapiDocument } from '../http/openapi/openapi-document.ts';
import type { Operation } from '../http/operation.ts';
import { createOperations } from '../http/operations.ts';
import { registerCellLookup } from '../http/pages/cell-lookup.ts';
import { registerDashboard } from '../http/pages/dashboard-files.ts';
import { registerPages } from '../http/pages/register-pages.ts';
import { registerSingleSignOn } from '../http/pages/single-sign-on-endpoints.ts';
import { registerUnsubscribeEndpoints } from '../http/pages/unsubscribe-endpoints.ts';
import { previewContent } from '../http/preview-content.ts';
import { bodyChecker, operationCaller } from '../http/server/call-operation.ts';
import { createHttpListener, type HttpListener } from '../http/server/http-listener.ts';
import { createHttpServer } from '../http/server/http-server.ts';
import { LargeResponseLimiter } from '../http/server/large-response-limiter.ts';
import { mainSurface } from '../http/server/main-surface.ts';
import { createSessionCookie } from '../http/server/session-cookie.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { MemoryBudget } from '../lib/memory-budget.ts';
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
  const { config, clock, log, registry, pool, services, consumers, delivery, outage } = options;
  const { baseUrl, trustProxy, requestTimeoutMs } = config.http;
  const isApi = config.roles.has('api');
  const cookie = createSessionCookie(baseUrl);
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
    batchMax: config.limits.batchMax,
    deletionMs: config.deletionMs,
    isSoleDeliverer: options.isSoleDeliverer,
    batchSender,
    bodyBytesMax: config.limits.requestBodyMaxBytes,
    largeAnswers,
    filteredLists: new LargeResponseLimiter(1),
    // The document is an operation too, and describes all of them.
    document: () => document(),
  });
  const document = (): object => openapiDocument(operations, { baseUrl, version: VERSION });
  const bodyMemory = new MemoryBudget(config.limits.requestBufferMaxBytes);
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
      Object.entries(services.requestLog.counts).map(([result, value]) => ({
        value,
        labels: { result },
      })),
  });
  const main = mainSurface(operations, services.authenticator);
  const compat = compatSurfaces(
    {
      call: operationCaller(
        [
          ...operations,
          checkBatch({ batchSender }),
          previewContent({ clock }),
          getAttachment({ contents: services.contents, largeAnswers }),
        ],
        services.rateLimiter,
        services.auditLog,
      ),
      checkBody: bodyChecker(operations),
      authenticator: services.authenticator,
      clock,
      bodyBytesMax: config.limits.requestBodyMaxBytes,
      batchMax: config.limits.batchMax,
      fetchFile: config.http.attachmentUrls
        ? createFileFetcher({ ...consumers.webhookTargets, memory: bodyMemory })
        : undefined,
      sign: linkSigner(options.secretKey),
      baseUrl,
    },
    { baseUrl, version: VERSION },
  );
  const http = createHttpServer({
    surfaces: isApi ? [main, ...compat] : [{ ...main, operations: [] }],
    sessions: services.people.sessions,
    operatorKeys: services.operatorKeys,
    cookie,
    rateLimiter: services.rateLimiter,
    networkRateLimiter: new RateLimiter(
      config.limits.ratePerSecond,
      config.limits.rateBurst,
      clock,
    ),
    idempotency: services.idempotency,
    clock,
    log,
    metrics: createHttpMetrics(registry),
    requestLog: services.requestLog,
    auditLog: services.auditLog,
    outage,
    baseUrl,
    bodyBytesMax: config.limits.requestBodyMaxBytes,
    bodyMemory,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    requestTimeoutMs,
    hasRouter: config.router.token !== undefined,
    onChange: options.onChange,
  });
  const listener = createHttpListener(http);
  registerPages(http, (pages) => {
    if (isApi) {
      consumers.registerPublicEndpoints(pages);
      registerUnsubscribeEndpoints(pages, services);
      registerSingleSignOn(pages, { ...services, sessionCookie: cookie, baseUrl, log });
      registerDashboard(pages, { folder: DASHBOARD });
      registerDocs(pages, { document, root: ROOT });
      if (config.router.token !== undefined) {
        registerCellLookup(pages, {
          routerToken: config.router.token,
          pool,
          unsubscribeLinks: createUnsubscribeLinks(config, options.secretKey),
          webhooks: consumers.routes.webhooks,
        });
      }
    }
    registerHealthAndMetrics(pages, {
      outage,
      registry,
      clock,
      state: options.state,
      pool,
      replica: options.replica,
      acceptor: services.acceptor,
      delivery,
      consumers,
    });
  });
  return { http, listener };
}

function linkSigner(secretKey: Buffer): (text: string) => Buffer {
  const key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'compat links', 32));
  return (text) => createHmac('sha256', key).update(text).digest();
}
