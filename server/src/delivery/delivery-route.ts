import { isIP, isIPv6 } from 'node:net';
import type { OutgoingAddresses } from '../config/outgoing.ts';
import { unreachable } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import type { Resolver } from '../mail/dns/resolver.ts';
import type { MtaSts } from '../mail/policy/mta-sts.ts';
import { type MxHost, type MxRoute, resolveRoute } from '../mail/policy/mx.ts';
import { tlsPolicyFor } from '../mail/policy/tls-policy.ts';
import type { SmtpTarget } from '../mail/smtp-client/open-connection.ts';
import type { SmtpCredentials } from '../mail/smtp-client/smtp-auth.ts';
import type { AttemptEnd, RouteFault } from '../messages/verdict/verdict.ts';
import { relayKey } from './receivers.ts';

/** How mail leaves: straight to the receivers' servers, or through a relay. */
export type RouteSetting =
  | { kind: 'direct' }
  | {
      kind: 'relay';
      host: string;
      port: number;
      tls: 'opportunistic' | 'required' | 'implicit';
      auth?: SmtpCredentials | undefined;
    };

/** One mail server that may be tried, with all its addresses. */
export interface MailServer {
  relay: boolean;
  host: string;
  port: number;
  addresses: readonly string[];
  /** Servers named together share the pace of one receiver. */
  receiver: string;
  /** The policy is asked for only when the server's turn comes. */
  targets(): Promise<readonly SmtpTarget[] | AttemptEnd>;
}

/** The servers that one route leads to, in order; or why it leads nowhere. */
export type RouteCandidate =
  | { stations: MailServer[]; fault?: undefined }
  | { stations: []; fault: RouteFault };

/** One leg for each route. A fallback is looked up only when it is needed. */
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
 * Plans are kept for a short time: a resolver's answer is cheap but not free, and keeping to one
 * order of equal servers lets messages share connections.
 */
export class DeliveryRouteCache {
  readonly #parts: RoutingParts;
  readonly #cached = new Map<string, { plan: DeliveryRoute; untilMs: number }>();

  constructor(parts: RoutingParts) {
    this.#parts = parts;
  }

  for(domain: string, tlsRequired: boolean): DeliveryRoute {
    const nowMs = this.#parts.clock.now();
    const key = tlsRequired ? `${domain} tls` : domain;
    const known = this.#cached.get(key);
    if (known && nowMs < known.untilMs) return known.plan;
    const plan = this.#parts.routes.map((route) =>
      memoize(
        () =>
          route.kind === 'relay'
            ? relayCandidate(route, tlsRequired, this.#parts)
            : directCandidate(domain, tlsRequired, this.#parts),
        // A domain that cannot be reached now is looked up anew at its next try.
        () => this.#cached.delete(key),
      ),
    );
    this.#cached.delete(key);
    this.#cached.set(key, { plan, untilMs: nowMs + ROUTE_CACHE_MS });
    if (this.#cached.size > ROUTES_MAX) {
      const oldest = this.#cached.keys().next();
      if (!oldest.done) this.#cached.delete(oldest.value);
    }
    return plan;
  }
}

function memoize(
  find: () => Promise<RouteCandidate>,
  failed: () => void,
): () => Promise<RouteCandidate> {
  let found: Promise<RouteCandidate> | undefined;
  return () => {
    found ??= find().then(
      (leg) => {
        if (leg.fault) failed();
        return leg;
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
    reaches: (ip) => sourceAddressFor(ip, outgoing) !== undefined,
  });
  if (found.kind !== 'hosts') return { stations: [], fault: routeFailure(domain, found) };
  const receiver = receiverKey(found.hosts);
  const stations = found.hosts.map((host): MailServer => {
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
  return { stations };
}

/** Domains behind the same first servers are one receiver, in whatever order DNS named them. */
function receiverKey(hosts: readonly MxHost[]): string {
  const best = hosts[0]?.preference;
  const first = hosts.filter((host) => host.preference === best).map((host) => host.host);
  return first.sort().join(' ');
}

function routeFailure(domain: string, found: Exclude<MxRoute, { kind: 'hosts' }>): RouteFault {
  switch (found.kind) {
    case 'no_domain':
      return { kind: 'domain_not_found', detail: `The domain ${domain} does not exist.` };
    case 'null_mx':
      return { kind: 'domain_takes_no_mail', detail: `${domain} has a null MX: it takes no mail.` };
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
  const { host, port, auth } = route;
  const { outgoing } = parts;
  const known = await addressesOf(host, parts.resolver);
  const addresses = known.filter((ip) => sourceAddressFor(ip, outgoing) !== undefined);
  if (addresses.length === 0) {
    const what = known.length === 0 ? '' : ' of a kind that mail leaves by';
    return {
      stations: [],
      fault: { kind: 'no_relay', detail: `The relay ${host} has no address${what}.` },
    };
  }
  const targets = addresses.map(
    (ip): SmtpTarget => ({
      host,
      ip,
      port,
      tls: relayTls(route, ip, tlsRequired),
      implicitTls: route.tls === 'implicit',
      ...(auth ? { auth } : {}),
      ...sourceAddressFor(ip, outgoing),
    }),
  );
  const receiver = relayKey(host, port);
  const station: MailServer = {
    relay: true,
    host,
    port,
    addresses,
    receiver,
    targets: () => Promise.resolve(targets),
  };
  return { stations: [station] };
}

/**
 * A relay is ours to name, so its certificate must be its own: it gets our password and all our
 * mail. On this machine nobody stands in between.
 */
function relayTls(
  route: Extract<RouteSetting, { kind: 'relay' }>,
  ip: string,
  tlsRequired: boolean,
): SmtpTarget['tls'] {
  const demanded = route.tls !== 'opportunistic' || tlsRequired;
  if (!demanded) return { kind: 'opportunistic' };
  const here = ip === '::1' || ip.startsWith('127.');
  return here ? { kind: 'required' } : { kind: 'verified', names: [route.host] };
}

/** What the connection to an address is bound to; undefined when mail does not leave that way. */
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

function tlsFailure(kind: 'certificate_rejected', detail: string): AttemptEnd {
  return { kind, stage: 'starttls', detail, afterFinalDot: false, staleConnection: false };
}
