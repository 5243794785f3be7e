import { isIPv6 } from 'node:net';
import type { DnsAnswer } from '../dns/answer.ts';
import type { MxRecord } from '../dns/dns-message.ts';
import { looksLikeIp, normalizeDnsName } from '../dns/dns-name.ts';
import type { Resolver } from '../dns/resolver.ts';

/**
 * Resolves the mail hosts of a receiving domain, in the order to try them (RFC 5321 section 5.1).
 * This is the one place that separates permanent from temporary routing errors: a domain that does
 * not exist, accepts no mail, or has no usable host is permanent; a failed lookup is temporary and
 * never treated as absence.
 */

export type MxRoute =
  | { kind: 'hosts'; hosts: readonly MxHost[]; authenticated: boolean }
  /** The domain does not accept mail (RFC 7505). */
  | { kind: 'null_mx' }
  | { kind: 'no_domain' }
  /** The domain exists, but none of its hosts has an address that mail may be sent to. */
  | { kind: 'no_address'; detail: string }
  /** It has addresses, but none that is reachable from here. */
  | { kind: 'out_of_reach'; detail: string }
  | { kind: 'temporary'; detail: string };

export interface MxHost {
  host: string;
  preference: number;
  /** In the order to try them. */
  addresses: readonly string[];
  /** The domain itself, because it has no MX record. */
  implicit: boolean;
  /** Whether the addresses are DNSSEC-validated; if not, DANE does not apply to this host. */
  authenticated: boolean;
  /** The name at the end of the host's CNAME chain, where RFC 7672 looks for TLSA records first. */
  canonical: string;
}

export interface RouteSettings {
  /** Which addresses may be connected to at all. */
  addressAllowed: (ip: string) => boolean;
  /** Which addresses are reachable: outgoing mail may be limited to one IP version. */
  isReachable?: (ip: string) => boolean;
  /** A number from 0 (inclusive) to 1 (exclusive); shuffles hosts of equal preference. */
  random?: () => number;
}

/** Bounds what a hostile zone can make us do for one message. */
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
 * Sorted by preference, each host once. Records with the root name beside others, an IP address in
 * place of a name, or an invalid name are skipped; the other records still work.
 */
function usableHosts(records: readonly MxRecord[], random: () => number): NamedHost[] {
  const best = new Map<string, NamedHost>();
  for (const { host: text, preference } of records) {
    const host = normalizeDnsName(text);
    if (host === undefined || looksLikeIp(host)) continue;
    const previous = best.get(host);
    if (!previous || preference < previous.preference) {
      best.set(host, { host, preference, implicit: false });
    }
  }
  return shuffle([...best.values()], random)
    .sort((one, other) => one.preference - other.preference)
    .slice(0, HOSTS_MAX);
}

/**
 * Hosts of equal preference share the load (RFC 5321 section 5.1); the following sort is stable.
 */
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
      ? `The MX record of ${domain} contains an IP address (${addresses[0]}) instead of a host name.`
      : `The MX records of ${domain} contain no valid host name.`;
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
    const detail = `The mail hosts of ${domain} have only ${kind} addresses (${unreachable.slice(0, 3).join(', ')}), and this server does not send over ${kind}.`;
    return { kind: 'out_of_reach', detail };
  }
  const forbidden = lookups.flatMap(({ forbidden }) => forbidden);
  if (forbidden.length > 0) {
    const detail = `The mail hosts of ${domain} have only addresses that mail must not be sent to (${forbidden.slice(0, 3).join(', ')}).`;
    return { kind: 'no_address', detail };
  }
  const detail = named[0]?.implicit
    ? `${domain} has neither a mail server (MX) nor an address.`
    : `None of the mail servers of ${domain} (${named[0]?.host}) has an address.`;
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

function recordsOf(answer: DnsAnswer<'A'> | DnsAnswer<'AAAA'>): readonly string[] {
  return answer.kind === 'found' ? answer.records : [];
}

/** Alternates between the families, so that a broken one costs only a single failed attempt. */
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
