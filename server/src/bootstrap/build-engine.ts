import { hkdfSync } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../config/read-config.ts';
import type { DatabaseHosts } from '../db/database-url.ts';
import type { NotificationListener } from '../db/listen.ts';
import { openPool, type Pool } from '../db/pool.ts';
import type { Transport } from '../delivery/delivery.ts';
import { openDeliveryStore } from '../delivery/delivery-store.ts';
import { createEngine, type Engine } from '../delivery/engine.ts';
import { DEFAULT_LIMITS, type EngineLimits } from '../delivery/engine-limits.ts';
import type { SenderDomains } from '../delivery/outgoing-mail.ts';
import { createShaping, type ShapingRules } from '../delivery/shaping.ts';
import { simulatorTransport } from '../delivery/simulator.ts';
import { smtpTransport } from '../delivery/smtp-transport.ts';
import { dkimEncryptor } from '../domains/dkim-key-generator.ts';
import { SigningDomainCache } from '../domains/signing-domain-cache.ts';
import type { Clock } from '../lib/clock.ts';
import { createEncryptor } from '../lib/encryption.ts';
import type { Log } from '../lib/log.ts';
import { isPublicAddress } from '../lib/net/public-address.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import { createMtaSts } from '../mail/policy/mta-sts.ts';
import { createPolicyFetcher } from '../mail/policy/mta-sts-fetch.ts';
import { CONTENT_KEY_PURPOSE, decryptContent } from '../messages/content/message-content.ts';

/**
 * The delivery engine, joined with its own connections and the ways out. It is built here for
 * whichever thread it works in, and handed nothing but what can be given to a thread.
 */
export interface EngineNeeds {
  settings: Config['delivery'];
  shaping: ShapingRules | undefined;
  places: DatabaseHosts;
  secretKey: Buffer;
  /** What keys to sign with are read through. */
  keysPool: Pool;
  clock: Clock;
  log: Log;
  notices: NotificationListener;
  /** An address and port on which we take mail ourselves. */
  isOwnAddress: (ip: string, port: number) => boolean;
  /** Results were committed, and events with them. */
  told: () => void;
  memory?: SharedArrayBuffer;
  /** Replaces the SMTP transport in tests. */
  liveTransport?: Transport;
  /** Wraps the live transport, for benchmarks and tests. */
  wrapLiveTransport: (route: Transport) => Transport;
}

export function openEngine(needs: EngineNeeds): { engine: Engine; pool: Pool } {
  const { settings, clock, log, notices, told } = needs;
  const pool = openPool({
    hosts: needs.places,
    log,
    max: 6,
    applicationName: 'postrider delivery',
  });
  const sealer = createEncryptor(needs.secretKey, CONTENT_KEY_PURPOSE);
  const store = openDeliveryStore(pool, (sealed) => decryptContent(sealer, sealed));
  const engine = createEngine({
    store: {
      ...store,
      record: async (outcomes) => {
        const written = await store.record(outcomes);
        told();
        return written;
      },
    },
    clock,
    transports: {
      live: needs.wrapLiveTransport(needs.liveTransport ?? createLiveTransport(needs)),
      test: simulatorTransport(clock),
    },
    log,
    nodeName: `${hostname()}/${process.pid}`,
    limits: engineLimits(settings),
    ...(needs.memory ? { memory: needs.memory } : {}),
  });
  notices.on('deliveries', () => engine.wake());
  notices.onGap(() => engine.wake());
  return { engine, pool };
}

/** The engine's, wherever it works, and those by which it is asked for room. */
export function engineLimits(settings: Config['delivery']): EngineLimits {
  return {
    ...DEFAULT_LIMITS,
    leaseMs: settings.leaseMs,
    retryWindowMs: settings.retryWindowMs,
    backoff: settings.backoff,
    inFlightMax: settings.concurrency,
  };
}

/** A function cannot be passed to a worker thread, but the URL of a module that exports it can. */
export async function loadTransportWrapper(
  address: string,
): Promise<EngineNeeds['wrapLiveTransport']> {
  return ((await import(address)) as { wrapTransport: EngineNeeds['wrapLiveTransport'] })
    .wrapTransport;
}

/** How live mail leaves, built from the configuration. */
function createLiveTransport(parts: EngineNeeds): Transport {
  const { settings, clock } = parts;
  const resolver = createResolver({
    clock,
    trustRemoteAuthentication: settings.dnsValidates,
    servers: settings.dnsServers,
  });
  // A tenant chooses the domains, and whoever runs their DNS chooses the addresses: without a word
  // from the operator none of them may lie inside the house.
  const addressAllowed = settings.mxAllowPrivate ? () => true : isPublicAddress;
  return smtpTransport({
    clock,
    resolver,
    mtaSts: createMtaSts({
      resolver,
      clock,
      fetchPolicy: createPolicyFetcher({ resolver, clock, addressAllowed }),
    }),
    routes: settings.routes,
    mxPort: settings.mxPort,
    addressAllowed,
    outgoing: settings.outgoing,
    heloName: settings.heloName,
    senders: senderDomains(signingKeysOf(parts)),
    returnPathKey: returnPathKey(parts.secretKey),
    shaping: createShaping(parts.shaping),
    isOwnAddress: parts.isOwnAddress,
  });
}

/** What return paths are written with, and read with when they come back. */
export function returnPathKey(secretKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'return-path', 32));
}

/** Believed until a notice says otherwise. */
function signingKeysOf({
  keysPool: pool,
  clock,
  secretKey,
  notices,
}: EngineNeeds): SigningDomainCache {
  const noticesArrive = (): boolean => notices.connected;
  const keys = new SigningDomainCache({
    pool,
    clock,
    sealer: dkimEncryptor(secretKey),
    isListening: noticesArrive,
  });
  notices.on('domains', (workspaceId) => keys.forgetWorkspace(workspaceId));
  notices.onGap(() => keys.forgetAll());
  return keys;
}

function senderDomains(signingKeys: SigningDomainCache): SenderDomains {
  return {
    async settingsFor(workspaceId, domain) {
      const found = await signingKeys.find(workspaceId, domain);
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
      return (await signingKeys.find(workspaceId, domain))?.keys ?? [];
    },
  };
}
