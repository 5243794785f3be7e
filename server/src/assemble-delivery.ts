import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import type { Sealer } from './base/sealer.ts';
import type { Config } from './config/read-config.ts';
import type { Route } from './delivery/delivery.ts';
import { type DeliveryStore, openDeliveryStore } from './delivery/delivery-store.ts';
import { createEngine, type Engine } from './delivery/engine.ts';
import type { SenderDomains } from './delivery/outgoing-mail.ts';
import { faultsOf, type ShapingFor, type ShapingRules, shapingBy } from './delivery/shaping.ts';
import { simulatorRoute } from './delivery/simulator.ts';
import { smtpRoute } from './delivery/smtp-route.ts';
import type { SigningKeys } from './domains/signing-keys.ts';
import { createResolver } from './mail/dns.ts';
import { createMtaSts } from './mail/mta-sts.ts';
import { createPolicyFetcher } from './mail/mta-sts-fetch.ts';
import { isPublicAddress } from './mail/mx-address.ts';
import { openContent } from './messages/sealed-content.ts';
import type { Listener } from './storage/listen.ts';
import type { Storage } from './storage/open-storage.ts';
import { openPool, type Pool } from './storage/pool.ts';
import { StorageStartError } from './storage/start-error.ts';

/** The part of the assembly that sends: the engine, its own connections, and the ways out. */
export interface DeliveryNeeds {
  config: Config;
  clock: Clock;
  log: Log;
  storage: Storage;
  notices: Listener;
  signingKeys: SigningKeys;
  sealer: Sealer;
  returnPathKey: Buffer;
  /** An address and port on which we take mail ourselves. */
  isOwnAddress: (ip: string, port: number) => boolean;
  /** Puts the bell of the ledger on what the engine writes. */
  tellingOf: (store: DeliveryStore) => DeliveryStore;
  /** How live mail leaves, when not by the configured routes. */
  liveRoute?: Route;
  aroundLiveRoute?: (route: Route) => Route;
}

/** Nothing without the role `delivery`. */
export interface DeliveryRoom {
  engine: Engine | undefined;
  pool: Pool | undefined;
}

export function openDelivery(needs: DeliveryNeeds): DeliveryRoom {
  const { config, clock, log, storage, notices, sealer } = needs;
  if (!config.roles.has('delivery')) return { engine: undefined, pool: undefined };
  const pool = openPool({
    places: storage.places,
    log,
    max: 6,
    applicationName: 'postrider delivery',
  });
  const { aroundLiveRoute = (route) => route } = needs;
  const engine = createEngine({
    store: needs.tellingOf(openDeliveryStore(pool, (sealed) => openContent(sealer, sealed))),
    clock,
    routes: {
      live: needs.liveRoute ?? aroundLiveRoute(createLiveRoute(needs)),
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
  notices.on('deliveries', () => engine.wake());
  notices.onGap(() => engine.wake());
  return { engine, pool };
}

/** How live mail leaves, built from the configuration. */
function createLiveRoute(
  parts: Pick<DeliveryNeeds, 'config' | 'clock' | 'signingKeys' | 'returnPathKey' | 'isOwnAddress'>,
): Route {
  const { config, clock } = parts;
  const { delivery } = config;
  const servers = delivery.dnsServers.map(({ host, port }) =>
    isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`,
  );
  const resolver = createResolver({
    clock,
    trustRemoteAuthentication: delivery.dnsValidates,
    ...(servers.length > 0 ? { servers } : {}),
  });
  // A tenant chooses the domains, and whoever runs their DNS chooses the addresses: without a word
  // from the operator none of them may lie inside the house.
  const addressAllowed = delivery.mxAllowPrivate ? () => true : isPublicAddress;
  return smtpRoute({
    clock,
    resolver,
    mtaSts: createMtaSts({
      resolver,
      clock,
      fetchPolicy: createPolicyFetcher({ resolver, clock, addressAllowed }),
    }),
    routes: delivery.routes,
    mxPort: delivery.mxPort,
    addressAllowed,
    heloName: delivery.heloName,
    senders: senderDomains(parts.signingKeys),
    returnPathKey: parts.returnPathKey,
    shaping: readShaping(delivery.shapingFile),
    isOwnAddress: parts.isOwnAddress,
  });
}

/** What return paths are written with, and read with when they come back. */
export function returnPathKey(secretKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'return-path', 32));
}

function senderDomains(signingKeys: SigningKeys): SenderDomains {
  return {
    async settingsFor(workspaceId, domain) {
      const found = await signingKeys.find(workspaceId, domain);
      return (
        found && {
          maySend: true,
          tls: found.tlsRequired ? 'required' : 'opportunistic',
          returnPathHost: found.returnPathHost,
        }
      );
    },
    async keysFor(workspaceId, domain) {
      return (await signingKeys.find(workspaceId, domain))?.keys ?? [];
    },
  };
}

function readShaping(file: string | undefined): ShapingFor {
  if (file === undefined) return shapingBy();
  let rules: unknown;
  try {
    rules = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new StorageStartError(
      `SHAPING_FILE: ${file} cannot be read as JSON: ${error instanceof Error ? error.message : ''}`,
    );
  }
  const faults = faultsOf(rules);
  if (faults.length > 0) throw new StorageStartError(`SHAPING_FILE: ${faults.join(' ')}`);
  return shapingBy(rules as ShapingRules);
}
