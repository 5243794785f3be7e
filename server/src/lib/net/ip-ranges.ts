import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * A set of IP addresses and CIDR networks, such as trusted proxies or the networks of an API key.
 */
export class IpRanges {
  readonly #ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][];

  constructor(networks: readonly string[]) {
    this.#ranges = networks.map((text) => {
      if (ipaddr.isValidCIDR(text)) return unmapIpv4(ipaddr.parseCIDR(text));
      const address = ipaddr.process(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** Whether every address of an IP or CIDR network is in one of the ranges. */
  containsRange(text: string): boolean {
    const [[network, bits]] = new IpRanges([text]).#ranges as [[ipaddr.IPv4 | ipaddr.IPv6, number]];
    return this.#ranges.some(
      ([outer, outerBits]) =>
        outer.kind() === network.kind() && outerBits <= bits && network.match(outer, outerBits),
    );
  }

  /** IPv4-mapped IPv6 addresses match as IPv4. */
  includes(ip: string): boolean {
    if (!ipaddr.isValid(ip)) return false;
    const address = ipaddr.process(ip);
    return this.#ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  }
}

const MAPPED_BITS = 96;

/** Turns a network of IPv4-mapped IPv6 addresses into the IPv4 network. */
function unmapIpv4([network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]): [
  ipaddr.IPv4 | ipaddr.IPv6,
  number,
] {
  if (network instanceof ipaddr.IPv4 || bits < MAPPED_BITS) return [network, bits];
  if (!network.isIPv4MappedAddress()) return [network, bits];
  return [network.toIPv4Address(), bits - MAPPED_BITS];
}

/**
 * Whether a text is an IP address or a network in CIDR notation. Short forms such as 1.2.3, which C
 * libraries read as 1.2.0.3, are rejected: they are usually typing mistakes.
 */
export function isIpOrCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}
