import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { createSealer } from '../lib/sealer.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import { disableWebhook } from './disable-webhook.ts';
import { Dispatcher, type DispatcherLimits } from './dispatcher.ts';
import { EndpointBook } from './endpoint-book.ts';
import { anyEnabled, fanOut, skipAhead } from './fan-out-store.ts';
import { createPoster } from './post-webhook.ts';
import { createTargetGuard } from './target-guard.ts';
import { WebhookTester } from './test-webhook.ts';
import { createAttempt } from './try-delivery.ts';
import { WebhookHistory } from './webhook-history.ts';
import {
  claimDue,
  endOrphans,
  recordTries,
  releaseRows,
  useIndexesOnly,
} from './webhook-queue-store.ts';
import { Webhooks } from './webhooks.ts';

export interface WebhookSettings {
  allowPrivate: boolean;
  portAllowed: (port: number) => boolean;
  concurrency: number;
  endpointConcurrency: number;
}

export interface OpenWebhooksParts {
  pool: Pool;
  /** The dispatcher's own connections; undefined where this process does not send webhooks. */
  dispatchPool: Pool | undefined;
  clock: Clock;
  log: Log;
  secretKey: Buffer;
  /** Empty: the system's. */
  dnsServers: readonly { host: string; port: number }[];
  settings: WebhookSettings;
  version: string;
  /** Where the other side is ours: tests say so. */
  ca?: string;
  limits?: Partial<DispatcherLimits>;
  deadlineMs?: number;
  mailCommits?: () => number;
}

export interface WebhookRoom {
  webhooks: Webhooks;
  history: WebhookHistory;
  tester: WebhookTester;
  dispatcher: Dispatcher | undefined;
  close(): void;
}

/** Tenants choose the names that are asked: mail has its own questions. */
const DNS_IN_FLIGHT_MAX = 64;

/** The room of webhooks, joined. */
export function openWebhooks(parts: OpenWebhooksParts): WebhookRoom {
  const { pool, clock, settings, dispatchPool } = parts;
  const sealer = createSealer(parts.secretKey, 'webhooks');
  const guard = createTargetGuard({
    resolver: resolverOf(parts),
    allowPrivate: settings.allowPrivate,
  });
  const poster = createPoster({
    clock,
    guard,
    ...(parts.ca === undefined ? {} : { ca: parts.ca }),
    ...(parts.deadlineMs === undefined ? {} : { deadlineMs: parts.deadlineMs }),
  });
  const book = new EndpointBook({ pool: dispatchPool ?? pool, sealer, rules: settings });
  const sending = {
    book,
    post: poster.post,
    clock,
    userAgent: `Postrider-Webhooks/${parts.version}`,
  };
  const dispatcher = dispatchPool && openDispatcher(parts, dispatchPool, createAttempt(sending));
  const webhooks = new Webhooks({ pool, clock, sealer, guard, rules: settings });
  return {
    webhooks,
    history: new WebhookHistory({
      pool,
      clock,
      webhooks,
      wake: () => dispatcher?.wakeClaims(),
    }),
    tester: new WebhookTester({
      ...sending,
      book: new EndpointBook({ pool, sealer, rules: settings }),
    }),
    dispatcher,
    close: () => poster.close(),
  };
}

function openDispatcher(
  { clock, log, settings, limits, mailCommits }: OpenWebhooksParts,
  pool: Pool,
  attempt: ReturnType<typeof createAttempt>,
): Dispatcher {
  useIndexesOnly(pool);
  return new Dispatcher({
    store: {
      anyEnabled: () => anyEnabled(pool),
      skipAhead: () => skipAhead(pool),
      fanOut: (eventsMax, rooms, terms) => fanOut(pool, eventsMax, rooms, terms),
      claim: (after, rooms, terms) => claimDue(pool, after, rooms, terms),
      release: (rows, lease, nowMs) => releaseRows(pool, rows, lease, nowMs),
      endOrphans: (nowMs, limit) => endOrphans(pool, nowMs, limit),
      record: (results) => recordTries(pool, results),
    },
    attempt,
    disable: ({ workspace_id: workspaceId, mode, webhook_id }, found) =>
      disableWebhook(pool, { workspaceId, mode }, webhook_id, found, clock.now()),
    ...(mailCommits ? { mailCommits } : {}),
    clock,
    log,
    limits: {
      wireMax: settings.concurrency,
      perEndpointMax: settings.endpointConcurrency,
      ...limits,
    },
  });
}

function resolverOf({ clock, dnsServers }: OpenWebhooksParts) {
  return createResolver({
    clock,
    inFlightMax: DNS_IN_FLIGHT_MAX,
    servers: dnsServers,
  });
}
