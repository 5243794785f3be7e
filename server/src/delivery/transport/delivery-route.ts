import { isIP, isIPv6 } from 'node:net';
import type { OutgoingAddresses } from '../../config/outgoing-addresses.ts';
import { unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';
import type { MtaSts } from '../../mail/policy/mta-sts.ts';
import { type MxHost, type MxRoute, resolveRoute } from '../../mail/policy/mx.ts';
import { tlsPolicyFor } from '../../mail/policy/tls-policy.ts';
import type { SmtpTarget } from '../../mail/smtp-client/open-connection.ts';
import type { SmtpCredentials } from '../../mail/smtp-client/smtp-auth.ts';
import type { AttemptResult, RouteError } from '../../messages/verdict/verdict.ts';

/** How mail is sent: directly to the receivers' servers, or through a relay. */
export type RouteSetting =
  | { kind: 'direct' }
  | {
      kind: 'relay';
      host: string;
      port: number;
      tls: 'opportunistic' | 'required' | 'implicit';
      auth?: SmtpCredentials | undefined;
    };

/** A mail server that may be tried, with all its addresses. */
export interface MailServer {
  relay: boolean;
  host: string;
  port: number;
  addresses: readonly string[];
  /** Servers with the same key share the concurrency limit of one receiver. */
  receiver: string;
  /** The TLS policy is resolved only when the server is tried. */
  targets(): Promise<readonly SmtpTarget[] | AttemptResult>;
}

/** The servers of one configured route in order, or why there are none. */
export type RouteCandidate =
  | { servers: MailServer[]; error?: undefined }
  | { servers: []; error: RouteError };

/** One candidate per configured route. A fallback is resolved only when it is needed. */
export type DeliveryRoute = readonly (() => Promise<RouteCandidate>)[];

export interface RoutingParts {
  clock: Clock;
  resolver: Resolver;
  mtaSts: MtaSts;
  routes: readonly RouteSetting[];
  mxPort: number;
  addressAllowed: (ip: string) => boolean;
  outgoing: OutgoingAddresses;
}

/**
 * Routes are cached briefly: a resolver's answer is cheap but not free, and a stable order of equal
 * servers lets messages share connections.
 */
export class DeliveryRouteCache {
  readonly #parts: RoutingParts;
  readonly #cached = new Map<string, { route: DeliveryRoute; untilMs: number }>();

  constructor(parts: RoutingParts) {
    this.#parts = parts;
  }

  for(domain: string, tlsRequired: boolean): DeliveryRoute {
    const nowMs = this.#parts.clock.now();
    const key = tlsRequired ? `${domain} tls` : domain;
    const known = this.#cached.get(key);
    if (known && nowMs < known.untilMs) return known.route;
    const route = this.#parts.routes.map((setting) =>
      memoize(
        () =>
          setting.kind === 'relay'
            ? relayCandidate(setting, tlsRequired, this.#parts)
            : directCandidate(domain, tlsRequired, this.#parts),
        // A domain that cannot be reached now is resolved again for its next attempt.
        () => this.#cached.delete(key),
      ),
    );
    this.#cached.delete(key);
    this.#cached.set(key, { route, untilMs: nowMs + ROUTE_CACHE_MS });
    if (this.#cached.size > ROUTES_MAX) {
      const oldest = this.#cached.keys().next();
      if (!oldest.done) this.#cached.delete(oldest.value);
    }
    return route;
  }
}

function memoize(
  find: () => Promise<RouteCandidate>,
  failed: () => void,
): () => Promise<RouteCandidate> {
  let found: Promise<RouteCandidate> | undefined;
  return () => {
    found ??= find().then(
      (candidate) => {
        if (candidate.error) failed();
        return candidate;
      },
      (error: unknown) => {
        failed();
        throw error;
      },
    );
    return found;
  };
}

const ROUTE_CACHE_MS = 60_000;
const ROUTES_MAX = 20_000;

async function directCandidate(
  domain: string,
  tlsRequired: boolean,
  parts: RoutingParts,
): Promise<RouteCandidate> {
  const { resolver, addressAllowed, outgoing } = parts;
  const found = await resolveRoute(domain, resolver, {
    addressAllowed,
    isReachable: (ip) => sourceAddressFor(ip, outgoing) !== undefined,
  });
  if (found.kind !== 'hosts') return { servers: [], error: routeFailure(domain, found) };
  const receiver = receiverKey(found.hosts);
  const servers = found.hosts.map((host): MailServer => {
    const { mxPort: port } = parts;
    const question = {
      domain,
      host,
      routeAuthenticated: found.authenticated,
      tlsRequired,
      port,
    };
    return {
      relay: false,
      host: host.host,
      port,
      addresses: host.addresses,
      receiver,
      async targets() {
        const decision = await tlsPolicyFor(question, resolver, parts.mtaSts);
        switch (decision.kind) {
          case 'policy':
            return host.addresses.map((ip) => ({
              host: host.host,
              ip,
              port,
              tls: decision.policy,
              ...sourceAddressFor(ip, outgoing),
            }));
          case 'host_refused':
            return tlsFailure('certificate_rejected', decision.detail);
          case 'temporary':
            return { kind: 'name_server_failed', detail: decision.detail };
          default:
            return unreachable(decision);
        }
      },
    };
  });
  return { servers };
}

/**
 * Domains with the same most-preferred servers are one receiver, in whatever order DNS lists them.
 */
function receiverKey(hosts: readonly MxHost[]): string {
  const best = hosts[0]?.preference;
  const first = hosts.filter((host) => host.preference === best).map((host) => host.host);
  return first.sort().join(' ');
}

function routeFailure(domain: string, found: Exclude<MxRoute, { kind: 'hosts' }>): RouteError {
  switch (found.kind) {
    case 'no_domain':
      return { kind: 'domain_not_found', detail: `The domain ${domain} does not exist.` };
    case 'null_mx':
      return {
        kind: 'domain_takes_no_mail',
        detail: `${domain} publishes a null MX record and does not accept mail.`,
      };
    case 'no_address':
      return { kind: 'domain_without_address', detail: found.detail };
    case 'out_of_reach':
      return { kind: 'out_of_reach', detail: found.detail };
    case 'temporary':
      return { kind: 'name_server_failed', detail: found.detail };
    default:
      return unreachable(found);
  }
}

async function relayCandidate(
  route: Extract<RouteSetting, { kind: 'relay' }>,
  tlsRequired: boolean,
  parts: RoutingParts,
): Promise<RouteCandidate> {
  const { host, port } = route;
  const targets = await relayTargets(route, tlsRequired, parts);
  if (!Array.isArray(targets)) return { servers: [], error: targets };
  const server: MailServer = {
    relay: true,
    host,
    port,
    addresses: targets.map(({ ip }) => ip),
    receiver: relayKey(host, port),
    targets: () => Promise.resolve(targets),
  };
  return { servers: [server] };
}

/** How to connect to each address of a relay, or why that is not possible. */
export async function relayTargets(
  route: Extract<RouteSetting, { kind: 'relay' }>,
  tlsRequired: boolean,
  { outgoing, resolver }: Pick<RoutingParts, 'outgoing' | 'resolver'>,
): Promise<SmtpTarget[] | RouteError> {
  const { host, port, auth } = route;
  const known = await addressesOf(host, resolver);
  const addresses = known.filter((ip) => sourceAddressFor(ip, outgoing) !== undefined);
  if (addresses.length === 0) {
    const what = known.length === 0 ? '' : ' that OUTGOING_ADDRESSES allows';
    return { kind: 'no_relay', detail: `The relay ${host} has no address${what}.` };
  }
  return addresses.map((ip) => ({
    host,
    ip,
    port,
    tls: relayTls(route, ip, tlsRequired),
    implicitTls: route.tls === 'implicit',
    ...(auth ? { auth } : {}),
    ...sourceAddressFor(ip, outgoing),
  }));
}

/** All mail through a relay shares its concurrency limit. */
export function relayKey(host: string, port: number): string {
  return `relay ${host}:${port}`;
}

/**
 * The relay is chosen by the operator and receives the password and all mail, so its certificate
 * must match its name. On the loopback interface there is no third party.
 */
function relayTls(
  route: Extract<RouteSetting, { kind: 'relay' }>,
  ip: string,
  tlsRequired: boolean,
): SmtpTarget['tls'] {
  const required = route.tls !== 'opportunistic' || tlsRequired;
  if (!required) return { kind: 'opportunistic' };
  const isLoopback = ip === '::1' || ip.startsWith('127.');
  return isLoopback ? { kind: 'required' } : { kind: 'verified', names: [route.host] };
}

/**
 * The source address for connections to `ip`; undefined when mail may not use its address family.
 */
function sourceAddressFor(
  ip: string,
  { ipv4, ipv6 }: OutgoingAddresses,
): Pick<SmtpTarget, 'localAddress'> | undefined {
  const localAddress = isIPv6(ip) ? ipv6 : ipv4;
  if (localAddress === 'any') return {};
  return localAddress === undefined ? undefined : { localAddress };
}

async function addressesOf(host: string, resolver: Resolver): Promise<string[]> {
  if (isIP(host)) return [host];
  if (host === 'localhost') return ['127.0.0.1', '::1'];
  const [ipv4, ipv6] = await Promise.all([
    resolver.lookup('A', host),
    resolver.lookup('AAAA', host),
  ]);
  return [
    ...(ipv4.kind === 'found' ? ipv4.records : []),
    ...(ipv6.kind === 'found' ? ipv6.records : []),
  ];
}

function tlsFailure(kind: 'certificate_rejected', detail: string): AttemptResult {
  return { kind, stage: 'starttls', detail, afterFinalDot: false, staleConnection: false };
}
