import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Resolver } from '../mail/dns/resolver.ts';
import { isPublicAddress } from '../lib/net/public-address.ts';

/**
 * Keeps webhooks out of our own network. A host's addresses are looked up once, every one of them is
 * judged, and the socket is given exactly those: what the name says a moment later has no say. The
 * look-up happens inside the making of each connection, so there is no way to connect around it.
 */
export interface TargetGuard {
  /** What a host leads to now. An address is its own answer. */
  resolve(host: string): Promise<Resolved>;
  /** For sockets. Node asks it for names only: an address must have been judged by `allowed`. */
  readonly lookup: LookupFunction;
  allowed(ip: string): boolean;
}

export type Resolved =
  | { kind: 'found'; addresses: string[] }
  /** At least one address is not for webhooks. */
  | { kind: 'refused'; address: string }
  | { kind: 'absent' }
  | { kind: 'failed' };

export interface GuardParts {
  resolver: Resolver;
  allowPrivate: boolean;
}

export class TargetRefusedError extends Error {
  readonly code = 'TARGET_REFUSED';
  constructor(address: string) {
    super(`${address} is an address inside a private network, which webhooks may not reach`);
  }
}

export function createTargetGuard({ resolver, allowPrivate }: GuardParts): TargetGuard {
  const allowed = allowPrivate ? isReachable : isPublicTarget;

  async function resolve(host: string): Promise<Resolved> {
    const found = isIP(host) === 0 ? await namedAddresses(host) : [host];
    if (!Array.isArray(found)) return { kind: found };
    const refused = found.find((address) => !allowed(address));
    if (refused !== undefined) return { kind: 'refused', address: refused };
    return { kind: 'found', addresses: found };
  }

  async function namedAddresses(host: string): Promise<string[] | 'absent' | 'failed'> {
    // RFC 6761 section 6.3: never a question for the DNS.
    if (/(^|\.)localhost$/.test(host)) return ['127.0.0.1', '::1'];
    const answers = await Promise.all([resolver.lookup('A', host), resolver.lookup('AAAA', host)]);
    const addresses = answers.flatMap((answer) =>
      answer.kind === 'found' ? (answer.records as string[]) : [],
    );
    if (addresses.length > 0) return addresses;
    // Names of a machine's own hosts file are not in the DNS. The system's look-up holds one of few
    // threads, which strangers must not be able to do: only where the operator trusts the names.
    const local = allowPrivate ? await hostsFile(host) : [];
    if (local.length > 0) return local;
    return answers.some((answer) => answer.kind === 'failed') ? 'failed' : 'absent';
  }

  return {
    resolve,
    allowed,
    lookup(host, options, callback) {
      void resolve(host).then((resolved) => {
        if (resolved.kind !== 'found') return callback(lookupError(host, resolved), '', 4);
        const found = resolved.addresses.map((address) => ({ address, family: isIP(address) }));
        const first = found[0] as { address: string; family: number };
        if (options.all) return callback(null, found);
        callback(null, first.address, first.family);
      });
    },
  };
}

async function hostsFile(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

function lookupError(host: string, resolved: Exclude<Resolved, { kind: 'found' }>): Error {
  if (resolved.kind === 'refused') return new TargetRefusedError(resolved.address);
  const code = resolved.kind === 'absent' ? 'ENOTFOUND' : 'EAI_AGAIN';
  return Object.assign(new Error(`No address of ${host} is known`), { code });
}

/**
 * IPv6 is open only in its global unicast range (2000::/3), without the parts of it that carry an
 * IPv4 address or are set aside. So mapped, compatible, NAT64, 6to4 and Teredo addresses are out,
 * whatever they hold inside.
 */
export function isPublicTarget(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.parse(ip);
  if (address.kind() === 'ipv4') return isPublicAddress(ip);
  return ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20 && address.range() === 'unicast';
}

/** Whatever one machine can be reached by: not everybody, nobody, or many. */
function isReachable(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const range = ipaddr.process(ip).range();
  return range !== 'multicast' && range !== 'broadcast' && range !== 'unspecified';
}
