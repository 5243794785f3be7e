import { hkdfSync } from 'node:crypto';
import { hostname } from 'node:os';
import {
  type MailSource,
  mailSource,
  type WarmUpRoute,
  warmUpRoutes,
} from '../config/delivery-routes.ts';
import type { Config } from '../config/read-config.ts';
import type { DatabaseHosts } from '../db/connections/database-url.ts';
import type { NotificationListener } from '../db/connections/listen.ts';
import { openPool, type Pool } from '../db/connections/pool.ts';
import { openDeliveryStore } from '../delivery/claims/delivery-store.ts';
import type { Transport } from '../delivery/delivery.ts';
import { createEngine, type Engine } from '../delivery/engine.ts';
import { type EngineLimits, FIXED_LIMITS } from '../delivery/engine-limits.ts';
import { createShaping, type ShapingRules } from '../delivery/receivers/shaping.ts';
import { listThrottles, saveThrottle } from '../delivery/receivers/throttle-store.ts';
import type { SenderDomains } from '../delivery/transport/outgoing-mail.ts';
import { routedTransport, throttlesOf } from '../delivery/transport/routed-transport.ts';
import { simulatorTransport } from '../delivery/transport/simulator.ts';
import {
  type DirectTransport,
  smtpTransport,
  type ThrottleMemory,
} from '../delivery/transport/smtp-transport.ts';
import { WarmUp } from '../delivery/warm-up/warm-up.ts';
import { warmUpMemory } from '../delivery/warm-up/warm-up-store.ts';
import { WarmingTransport } from '../delivery/warm-up/warming-transport.ts';
import { dkimEncryptor } from '../domains/dkim-key-generator.ts';
import { findReceivingDomain } from '../domains/receiving-domain-store.ts';
import { SigningDomainCache } from '../domains/signing-domain-cache.ts';
import { createEncryptor } from '../lib/crypto/encryption.ts';
import type { Log } from '../lib/log.ts';
import { isPublicAddress } from '../lib/net/public-address.ts';
import type { Clock } from '../lib/time/clock.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import { createMtaSts } from '../mail/policy/mta-sts.ts';
import { createPolicyFetcher } from '../mail/policy/mta-sts-fetch.ts';
import { CONTENT_KEY_PURPOSE, decryptContent } from '../messages/content/message-content.ts';
import { DELIVERIES } from '../messages/deliveries/delivery-lease-store.ts';
import { buildLeaseHolder } from './build-lease-holder.ts';

/**
 * Builds the delivery engine with its own connection pool and transports, for the main thread or a
 * worker thread.
 */
export interface EngineOptions {
  settings: Config['delivery'];
  shaping: ShapingRules | undefined;
  hosts: DatabaseHosts;
  /** No other process can use the database. */
  exclusive: boolean;
  secretKey: Buffer;
  /** The pool for reading DKIM keys. */
  keysPool: Pool;
  clock: Clock;
  log: Log;
  notifications: NotificationListener;
  /** Whether an address and port belong to a listener of this process, to prevent mail loops. */
  isOwnListener: (ip: string, port: number) => boolean;
  /** Called when outcomes, and events with them, were committed. */
  onEventsCommitted: () => void;
  /** Memory for the stats if another thread reads them. */
  memory?: SharedArrayBuffer;
  liveTransport?: TransportFactory | undefined;
}

/** Creates the transport of live mail, given a function that creates the configured one. */
export type TransportFactory = (createConfigured: () => Transport) => Transport;

export interface BuiltEngine {
  engine: Engine;
  pool: Pool;
  /** Closes its connections, after the engine has stopped. */
  close(): Promise<void>;
}

export function buildEngine(options: EngineOptions): BuiltEngine {
  const { settings, clock, log, hosts, notifications } = options;
  const pool = openPool({ hosts, log, max: 6, applicationName: 'postrider delivery' });
  const encryptor = createEncryptor(options.secretKey, CONTENT_KEY_PURPOSE);
  const store = openDeliveryStore(pool, (encrypted) => decryptContent(encryptor, encrypted));
  const nodeName = `${hostname()}/${process.pid}`;
  const { holder, close } = buildLeaseHolder(DELIVERIES, { ...options, pool, name: nodeName });
  const createConfigured = (): Transport => createSmtpTransport(options, pool);
  const engine = createEngine({
    store: {
      ...store,
      record: async (outcomes) => {
        const written = await store.record(outcomes);
        options.onEventsCommitted();
        return written;
      },
    },
    clock,
    transports: {
      live: options.liveTransport?.(createConfigured) ?? createConfigured(),
      test: simulatorTransport(clock),
    },
    log,
    nodeName,
    holder,
    limits: engineLimits(settings),
    ...(options.memory ? { memory: options.memory } : {}),
  });
  notifications.on('deliveries', () => engine.wake());
  notifications.on('moves', (workspaceId) => engine.withhold(workspaceId));
  notifications.onGap(() => engine.wake());
  return { engine, pool, close };
}

/** The limits of the engine, which the main thread also uses to reserve its capacity. */
export function engineLimits(settings: Config['delivery']): EngineLimits {
  return {
    ...FIXED_LIMITS,
    leaseMs: settings.leaseMs,
    retryWindowMs: settings.retryWindowMs,
    backoff: settings.backoff,
    inFlightMax: settings.concurrency,
  };
}

function createSmtpTransport(options: EngineOptions, pool: Pool): Transport {
  const { settings, clock } = options;
  const resolver = createResolver({
    clock,
    trustRemoteAuthentication: settings.dnsValidates,
    servers: settings.dnsServers,
  });
  // Tenants choose recipient domains, and the owners of those domains choose the addresses. Unless the
  // operator allows it, such an address must not be inside the private network.
  const addressAllowed = settings.mxAllowPrivate ? () => true : isPublicAddress;
  const parts = {
    clock,
    resolver,
    mtaSts: createMtaSts({
      resolver,
      clock,
      fetchPolicy: createPolicyFetcher({ resolver, clock, addressAllowed }),
    }),
    mxPort: settings.mxPort,
    addressAllowed,
    listenerName: settings.heloName,
    senders: senderDomains(createSigningDomainCache(options)),
    returnPathKey: returnPathKey(options.secretKey),
    shaping: createShaping(options.shaping),
    isOwnAddress: options.isOwnListener,
    // Behind a router, a server with our name can be the router, or another cell.
    mayReceiveMailFor: async (domain: string) =>
      settings.behindRouter || (await findReceivingDomain(pool, domain)) !== undefined,
    openingsMax: Math.max(1, Math.floor(settings.concurrency / OPENINGS_PART)),
  };
  const memory = throttleMemory(pool, options.log);
  const warming = new Map(
    warmUpRoutes(settings).map((warmUp) => [warmUp.route, createWarmUp(warmUp, options, pool)]),
  );
  const transportFor = (
    route: string | null,
    routes: Config['delivery']['routes'],
    { outgoing, heloName }: Pick<MailSource, 'outgoing' | 'heloName'>,
  ): DirectTransport => {
    const warmUp = warming.get(route)?.warmUp;
    return smtpTransport({
      ...{ ...parts, routes, outgoing, heloName },
      throttles: throttlesOf(memory, route),
      ...(warmUp && { warmUp }),
    });
  };
  const transports = new Map<string | null, DirectTransport>([
    [null, transportFor(null, settings.routes, settings)],
  ]);
  for (const [name, route] of Object.entries(settings.streamRoutes))
    transports.set(name, transportFor(name, [route], mailSource(route, settings)));
  const warmed = [...transports].map(([route, own]): [string | null, Transport] => {
    const found = warming.get(route);
    if (!found) return [route, own];
    const { warmUp, overflow: other } = found;
    const transport = other === undefined ? undefined : transports.get(other);
    const overflow = transport && { transport, route: other ?? null };
    return [route, new WarmingTransport({ own, overflow, warmUp })];
  });
  const [[, standard], ...named] = warmed as [[null, Transport], ...[string, Transport][]];
  return routedTransport(standard, new Map(named));
}

function createWarmUp(
  { sender, startsAtMs, startDay, overflow }: WarmUpRoute,
  { clock, log }: EngineOptions,
  pool: Pool,
): { warmUp: WarmUp; overflow: WarmUpRoute['overflow'] } {
  const memory = warmUpMemory(pool, sender);
  return { warmUp: new WarmUp({ sender, startsAtMs, startDay, memory, clock, log }), overflow };
}

/** Three quarters of the transactions in flight are for mail that has a connection. */
const OPENINGS_PART = 4;

/** Throttles are hints: when the database is unavailable, delivery continues without them. */
function throttleMemory(pool: Pool, log: Log): ThrottleMemory {
  let lastWrite: Promise<unknown> = Promise.resolve();
  return {
    load: () =>
      listThrottles(pool).catch((error: unknown) => {
        log.warn({ err: error }, 'loading throttles failed');
        return [];
      }),
    save(throttle) {
      lastWrite = lastWrite
        .then(() => saveThrottle(pool, throttle))
        .catch((error: unknown) => log.warn({ err: error }, 'storing a throttle failed'));
    },
  };
}

/** The key that signs return-path addresses, and verifies them when bounces arrive. */
export function returnPathKey(secretKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'return-path', 32));
}

function createSigningDomainCache(options: EngineOptions): SigningDomainCache {
  const { keysPool: pool, clock, secretKey, notifications } = options;
  const cache = new SigningDomainCache({
    pool,
    clock,
    encryptor: dkimEncryptor(secretKey),
    maxAgeMs: () => notifications.cacheMaxAgeMs,
  });
  notifications.on('domains', (workspaceId) => cache.invalidateWorkspace(workspaceId));
  notifications.onGap(() => cache.invalidateAll());
  return cache;
}

function senderDomains(cache: SigningDomainCache): SenderDomains {
  return {
    async settingsFor(workspaceId, domain) {
      const found = await cache.find(workspaceId, domain);
      return (
        found && {
          maySend: true,
          tls: found.tlsRequired ? 'required' : 'opportunistic',
          returnPathHost: found.returnPathHost,
          suspensionReason: found.suspendedFor,
        }
      );
    },
    async keysFor(workspaceId, domain) {
      return (await cache.find(workspaceId, domain))?.keys ?? [];
    },
  };
}
