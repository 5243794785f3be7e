import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../lib/net/public-address.ts';
import type { Resolver } from '../../mail/dns/resolver.ts';

/**
 * SSRF protection: keeps webhooks out of private networks. A host's addresses are resolved once,
 * each is checked, and the socket gets exactly those, so that a later DNS answer has no effect. The
 * lookup is part of every connection and cannot be bypassed.
 */
export interface TargetGuard {
  /** The addresses of a host now. An address resolves to itself. */
  resolve(host: string): Promise<ResolvedTarget>;
  /** For sockets. Node calls it for names only: addresses must be checked with `allowed`. */
  readonly lookup: LookupFunction;
  allowed(ip: string): boolean;
}

export type ResolvedTarget =
  | { kind: 'found'; addresses: string[] }
  /** At least one address is forbidden. */
  | { kind: 'refused'; address: string }
  | { kind: 'absent' }
  | { kind: 'failed' };

export interface TargetGuardParts {
  resolver: Resolver;
  allowPrivate: boolean;
}

export class TargetRefusedError extends Error {
  readonly code = 'TARGET_REFUSED';
  constructor(address: string) {
    super(`${address} is in a private network, which webhooks may not reach`);
  }
}

export function createTargetGuard({ resolver, allowPrivate }: TargetGuardParts): TargetGuard {
  const allowed = allowPrivate ? isUnicast : isPublicTarget;

  async function resolve(host: string): Promise<ResolvedTarget> {
    const found = isIP(host) === 0 ? await namedAddresses(host) : [host];
    if (!Array.isArray(found)) return { kind: found };
    const refused = found.find((address) => !allowed(address));
    if (refused !== undefined) return { kind: 'refused', address: refused };
    return { kind: 'found', addresses: found };
  }

  async function namedAddresses(host: string): Promise<string[] | 'absent' | 'failed'> {
    // RFC 6761 section 6.3: localhost is never resolved by DNS.
    if (/(^|\.)localhost$/.test(host)) return ['127.0.0.1', '::1'];
    const answers = await Promise.all([resolver.lookup('A', host), resolver.lookup('AAAA', host)]);
    const addresses = answers.flatMap((answer) =>
      answer.kind === 'found' ? (answer.records as string[]) : [],
    );
    if (addresses.length > 0) return addresses;
    // Names in the machine's hosts file are not in DNS. The system lookup blocks one of few
    // threads, which tenants must not be able to do, so it is used only where the operator allows
    // private names.
    const local = allowPrivate ? await systemAddresses(host) : [];
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

async function systemAddresses(host: string): Promise<string[]> {
  const found = await systemLookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

function lookupError(host: string, resolved: Exclude<ResolvedTarget, { kind: 'found' }>): Error {
  if (resolved.kind === 'refused') return new TargetRefusedError(resolved.address);
  const code = resolved.kind === 'absent' ? 'ENOTFOUND' : 'EAI_AGAIN';
  return Object.assign(new Error(`${host} could not be resolved`), { code });
}

/**
 * Only the global unicast range of IPv6 (2000::/3) is allowed, without the parts that embed an IPv4
 * address or are reserved. This excludes mapped, compatible, NAT64, 6to4 and Teredo addresses,
 * whatever they embed.
 */
export function isPublicTarget(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.parse(ip);
  if (address.kind() === 'ipv4') return isPublicAddress(ip);
  return ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20 && address.range() === 'unicast';
}

/** Any address of a single machine: not broadcast, unspecified or multicast. */
function isUnicast(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const range = ipaddr.process(ip).range();
  return range !== 'multicast' && range !== 'broadcast' && range !== 'unspecified';
}
