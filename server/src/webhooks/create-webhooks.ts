import type { Pool } from '../db/connections/pool.ts';
import { disableNonIndexPlans } from '../db/schema/index-plans.ts';
import { createEncryptor } from '../lib/crypto/encryption.ts';
import type { Log } from '../lib/log.ts';
import { FairQueue } from '../lib/scheduling/fair-queue.ts';
import type { Clock } from '../lib/time/clock.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import type { LeaseHolder } from '../queue/lease-holder.ts';
import { releaseLeases, renewLeases } from '../queue/lease-store.ts';
import { disableWebhook } from './disable-webhook.ts';
import { createAttempt } from './dispatch/attempt-webhook.ts';
import { createReadSource, type ReadInboundContent } from './dispatch/read-source.ts';
import { type DispatcherLimits, WebhookDispatcher } from './dispatch/webhook-dispatcher.ts';
import {
  claimDueWebhooks,
  failOrphans,
  recordAttempts,
  scanEndpoints,
  WEBHOOK_DELIVERIES,
} from './dispatch/webhook-queue-store.ts';
import { EndpointCache } from './fan-out/endpoint-cache.ts';
import {
  anyEnabled,
  fanOut,
  fanOutDueChunk,
  fanOutNextChunk,
  skipToEnd,
} from './fan-out/fan-out-store.ts';
import { WebhookHistory } from './history/webhook-history.ts';
import { createTargetGuard, type TargetGuard } from './requests/target-guard.ts';
import type { TargetRules } from './requests/target-url.ts';
import { createWebhookClient } from './requests/webhook-client.ts';
import { WebhookTester } from './test-webhook.ts';
import { Webhooks } from './webhooks.ts';

export interface WebhookSettings {
  allowPrivate: boolean;
  portAllowed: (port: number) => boolean;
  concurrency: number;
  endpointConcurrency: number;
}

export interface WebhookModuleParts {
  pool: Pool;
  /** The dispatcher's own connections; undefined where this process does not send webhooks. */
  dispatchPool: Pool | undefined;
  clock: Clock;
  log: Log;
  secretKey: Buffer;
  /** Empty: the system's resolvers. */
  dnsServers: readonly { host: string; port: number }[];
  settings: WebhookSettings;
  version: string;
  /** Where receivers find the certificates of this server. */
  baseUrl: string;
  /** An additional certificate authority, for tests. */
  ca?: string;
  limits?: Partial<DispatcherLimits>;
  deadlineMs?: number;
  holder?: LeaseHolder | undefined;
  mailCommits?: () => number;
  /** For formats that show what another module stores. */
  readInboundContent: ReadInboundContent;
}

export interface WebhookModule {
  webhooks: Webhooks;
  history: WebhookHistory;
  tester: WebhookTester;
  dispatcher: WebhookDispatcher | undefined;
  /** What every request to an endpoint must pass. */
  targets: { guard: TargetGuard; rules: TargetRules };
  close(): void;
}

/** Tenants choose the host names, so webhooks have a resolver apart from mail. */
const DNS_IN_FLIGHT_MAX = 64;
/** Each takes several times the size of a message in memory. */
const CONTENTS_MAX = 4;

/** Creates the webhooks module. */
export function createWebhooks(parts: WebhookModuleParts): WebhookModule {
  const { pool, clock, settings, dispatchPool } = parts;
  const encryptor = createEncryptor(parts.secretKey, 'webhooks');
  const guard = createTargetGuard({
    resolver: createWebhookResolver(parts),
    allowPrivate: settings.allowPrivate,
  });
  const client = createWebhookClient({
    clock,
    guard,
    ...(parts.ca === undefined ? {} : { ca: parts.ca }),
    ...(parts.deadlineMs === undefined ? {} : { deadlineMs: parts.deadlineMs }),
  });
  const endpoints = new EndpointCache({ pool: dispatchPool ?? pool, encryptor, rules: settings });
  const sending = {
    endpoints,
    post: client.post,
    clock,
    userAgent: `Postrider-Webhooks/${parts.version}`,
    baseUrl: parts.baseUrl,
  };
  const dispatcher =
    dispatchPool &&
    createDispatcher(
      parts,
      dispatchPool,
      createAttempt({
        ...sending,
        readSource: createReadSource(dispatchPool, parts.readInboundContent),
        contents: new FairQueue(CONTENTS_MAX),
      }),
    );
  const webhooks = new Webhooks({
    pool,
    clock,
    encryptor,
    guard,
    rules: settings,
    baseUrl: parts.baseUrl,
  });
  return {
    webhooks,
    history: new WebhookHistory({
      pool,
      clock,
      webhooks,
      readSource: createReadSource(pool, parts.readInboundContent),
      wake: () => dispatcher?.wakeClaims(),
    }),
    tester: new WebhookTester({
      ...sending,
      log: parts.log,
      endpoints: new EndpointCache({ pool, encryptor, rules: settings }),
    }),
    dispatcher,
    targets: { guard, rules: settings },
    close: () => client.close(),
  };
}

function createDispatcher(
  { clock, log, settings, limits, mailCommits, holder }: WebhookModuleParts,
  pool: Pool,
  attempt: ReturnType<typeof createAttempt>,
): WebhookDispatcher {
  disableNonIndexPlans(pool);
  return new WebhookDispatcher({
    store: {
      anyEnabled: () => anyEnabled(pool),
      skipToEnd: () => skipToEnd(pool),
      fanOut: (eventsMax, capacity, terms) => fanOut(pool, eventsMax, capacity, terms),
      fanOutNextChunk: (eventsMax, capacity, terms) =>
        fanOutNextChunk(pool, eventsMax, capacity, terms),
      fanOutDueChunk: (capacity, terms) => fanOutDueChunk(pool, capacity, terms),
      scan: (after, endpointsMax) => scanEndpoints(pool, after, endpointsMax),
      claim: (queues, terms) => claimDueWebhooks(pool, queues, terms),
      renew: (items, endsAtMs) => renewLeases(pool, WEBHOOK_DELIVERIES, items, endsAtMs),
      release: (items, dueAtMs) => releaseLeases(pool, WEBHOOK_DELIVERIES, items, dueAtMs),
      failOrphans: (nowMs, limit) => failOrphans(pool, nowMs, limit),
      record: (results) => recordAttempts(pool, results),
    },
    attempt,
    disable: ({ workspace_id: workspaceId, mode, webhook_id }, found) =>
      disableWebhook(pool, { workspaceId, mode }, webhook_id, found, clock.now()),
    ...(mailCommits ? { mailCommits } : {}),
    ...(holder ? { holder } : {}),
    clock,
    log,
    limits: {
      inFlightMax: settings.concurrency,
      perEndpointMax: settings.endpointConcurrency,
      ...limits,
    },
  });
}

function createWebhookResolver({ clock, dnsServers }: WebhookModuleParts) {
  return createResolver({
    clock,
    inFlightMax: DNS_IN_FLIGHT_MAX,
    servers: dnsServers,
  });
}
