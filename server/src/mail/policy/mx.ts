import { isIPv6 } from 'node:net';
import { looksLikeIp, normalizeDnsName } from '../dns/dns-name.ts';
import type { Answer, MxRecord, Resolver } from '../dns/resolver.ts';

/**
 * A receiving domain comes in, the hosts that take its mail leave, in the order to try them
 * (RFC 5321 section 5.1). What is wrong for good and what may pass is told apart here, once: a
 * domain that does not exist, says it takes no mail, or names no reachable host is permanent;
 * a look-up that failed is temporary and never mistaken for absence.
 */

export type MxRoute =
  | { kind: 'hosts'; hosts: readonly MxHost[]; authenticated: boolean }
  /** The domain says that it takes no mail (RFC 7505). */
  | { kind: 'null_mx' }
  | { kind: 'no_domain' }
  /** The domain exists, but nothing in its DNS leads to an address that mail may go to. */
  | { kind: 'no_address'; detail: string }
  /** It has addresses, but none that we have a way to. */
  | { kind: 'out_of_reach'; detail: string }
  | { kind: 'temporary'; detail: string };

export interface MxHost {
  host: string;
  preference: number;
  /** In the order to try them. */
  addresses: readonly string[];
  /** The domain itself, because it has no MX. */
  implicit: boolean;
  /** Whether the addresses are proved by DNSSEC: without that DANE says nothing about this host. */
  authenticated: boolean;
  /** The name at the end of the host's aliases: RFC 7672 looks for TLSA records there first. */
  canonical: string;
}

export interface RouteSettings {
  /** Which addresses may be connected to at all. */
  addressAllowed: (ip: string) => boolean;
  /** Which of them there is a way to from here: mail may leave by addresses of one kind alone. */
  isReachable?: (ip: string) => boolean;
  /** A number from 0 up to but not including 1; shuffles hosts of equal preference. */
  random?: () => number;
}

/** Bounds on what a hostile zone can make us do for one message. */
const HOSTS_MAX = 20;
const ADDRESSES_PER_HOST_MAX = 8;

export async function resolveRoute(
  domain: string,
  resolver: Resolver,
  settings: RouteSettings,
): Promise<MxRoute> {
  const answer = await resolver.lookup('MX', domain);
  switch (answer.kind) {
    case 'failed':
      return { kind: 'temporary', detail: answer.detail };
    case 'nxdomain':
      return { kind: 'no_domain' };
    case 'nodata': {
      const host = normalizeDnsName(domain) ?? domain;
      const implicit = { host, preference: 0, implicit: true };
      return withAddresses(domain, [implicit], answer.authenticated, resolver, settings);
    }
    case 'found': {
      if (isNullMx(answer.records)) return { kind: 'null_mx' };
      const hosts = usableHosts(answer.records, settings.random ?? Math.random);
      if (hosts.length === 0) return noUsableHost(domain, answer.records);
      return withAddresses(domain, hosts, answer.authenticated, resolver, settings);
    }
  }
}

function isNullMx(records: readonly MxRecord[]): boolean {
  return records.every(({ host }) => host === '');
}

type NamedHost = Pick<MxHost, 'host' | 'preference' | 'implicit'>;

/**
 * Sorted by preference, each host once. A record with the root beside others, an address in place
 * of a name, or a name that DNS cannot carry is passed over: the other records still work.
 */
function usableHosts(records: readonly MxRecord[], random: () => number): NamedHost[] {
  const best = new Map<string, NamedHost>();
  for (const { host: text, preference } of records) {
    const host = normalizeDnsName(text);
    if (host === undefined || looksLikeIp(host)) continue;
    const known = best.get(host);
    if (!known || preference < known.preference) {
      best.set(host, { host, preference, implicit: false });
    }
  }
  return shuffle([...best.values()], random)
    .sort((one, other) => one.preference - other.preference)
    .slice(0, HOSTS_MAX);
}

/** Equal preferences share the load (RFC 5321 section 5.1); the sort that follows is stable. */
function shuffle<T>(list: T[], random: () => number): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [list[i], list[j]] = [list[j] as T, list[i] as T];
  }
  return list;
}

function noUsableHost(domain: string, records: readonly MxRecord[]): MxRoute {
  const addresses = records.map(({ host }) => host).filter(looksLikeIp);
  const detail =
    addresses.length > 0
      ? `The MX record of ${domain} holds an IP address (${addresses[0]}) where a host name belongs.`
      : `The MX records of ${domain} hold no valid host name.`;
  return { kind: 'no_address', detail };
}

async function withAddresses(
  domain: string,
  named: readonly NamedHost[],
  authenticated: boolean,
  resolver: Resolver,
  settings: RouteSettings,
): Promise<MxRoute> {
  const lookups = await Promise.all(named.map((host) => lookUpHost(host, resolver, settings)));
  const hosts = lookups.map(({ host }) => host).filter((host) => host.addresses.length > 0);
  if (hosts.length > 0) return { kind: 'hosts', hosts, authenticated };

  const failure = lookups.find(({ failed }) => failed !== undefined)?.failed;
  if (failure !== undefined) return { kind: 'temporary', detail: failure };
  const unreachable = lookups.flatMap(({ unreachable: beyond }) => beyond);
  if (unreachable.length > 0) {
    const kind = isIPv6(unreachable[0] as string) ? 'IPv6' : 'IPv4';
    const detail = `The mail hosts of ${domain} have only ${kind} addresses (${unreachable.slice(0, 3).join(', ')}), and mail does not leave here by ${kind}.`;
    return { kind: 'out_of_reach', detail };
  }
  const forbidden = lookups.flatMap(({ forbidden }) => forbidden);
  if (forbidden.length > 0) {
    const detail = `The mail hosts of ${domain} have only addresses that mail may not be sent to (${forbidden.slice(0, 3).join(', ')}).`;
    return { kind: 'no_address', detail };
  }
  const detail = named[0]?.implicit
    ? `${domain} has neither a mail server (MX) nor an address.`
    : `No mail server of ${domain} (${named[0]?.host}) has an address.`;
  return { kind: 'no_address', detail };
}

interface HostLookup {
  host: MxHost;
  failed: string | undefined;
  forbidden: string[];
  unreachable: string[];
}

async function lookUpHost(
  named: NamedHost,
  resolver: Resolver,
  settings: RouteSettings,
): Promise<HostLookup> {
  const { addressAllowed, isReachable = () => true } = settings;
  const [ipv4, ipv6] = await Promise.all([
    resolver.lookup('A', named.host),
    resolver.lookup('AAAA', named.host),
  ]);
  const all = interleave(recordsOf(ipv4), recordsOf(ipv6));
  const allowed = all.filter(addressAllowed);
  const found = [ipv4, ipv6].filter((answer) => answer.kind === 'found');
  const failed = [ipv4, ipv6].find((answer) => answer.kind === 'failed');
  return {
    host: {
      ...named,
      addresses: allowed.filter(isReachable).slice(0, ADDRESSES_PER_HOST_MAX),
      authenticated: found.length > 0 && found.every((answer) => answer.authenticated),
      canonical: found[0]?.canonical ?? named.host,
    },
    failed: failed?.kind === 'failed' ? failed.detail : undefined,
    forbidden: all.filter((address) => !addressAllowed(address)),
    unreachable: allowed.filter((address) => !isReachable(address)),
  };
}

function recordsOf(answer: Answer<'A'> | Answer<'AAAA'>): readonly string[] {
  return answer.kind === 'found' ? answer.records : [];
}

/** By turns, so that one family that is broken on the way costs a single failed try. */
function interleave(ipv4: readonly string[], ipv6: readonly string[]): string[] {
  const all: string[] = [];
  for (let i = 0; i < Math.max(ipv4.length, ipv6.length); i++) {
    for (const family of [ipv4, ipv6]) {
      const address = family[i];
      if (address !== undefined) all.push(address);
    }
  }
  return all;
}
