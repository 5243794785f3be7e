import ipaddr from 'ipaddr.js';

/** Addresses and networks that an operator named as proxies, or that a key is limited to. */
export class IpRanges {
  readonly #ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][];

  constructor(networks: readonly string[]) {
    this.#ranges = networks.map((text) => {
      if (ipaddr.isValidCIDR(text)) return unmapIpv4(ipaddr.parseCIDR(text));
      const address = ipaddr.process(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** Whether all addresses of a network, or of one in CIDR form, are among these. */
  containsRange(text: string): boolean {
    const [[network, bits]] = new IpRanges([text]).#ranges as [[ipaddr.IPv4 | ipaddr.IPv6, number]];
    return this.#ranges.some(
      ([outer, outerBits]) =>
        outer.kind() === network.kind() && outerBits <= bits && network.match(outer, outerBits),
    );
  }

  /** An IPv4 address that is written as an IPv6 one is that IPv4 address. */
  includes(ip: string): boolean {
    if (!ipaddr.isValid(ip)) return false;
    const address = ipaddr.process(ip);
    return this.#ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  }
}

const MAPPED_BITS = 96;

/** A network of IPv4 addresses that are written as IPv6 ones is that network of IPv4. */
function unmapIpv4([network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]): [
  ipaddr.IPv4 | ipaddr.IPv6,
  number,
] {
  if (network instanceof ipaddr.IPv4 || bits < MAPPED_BITS) return [network, bits];
  if (!network.isIPv4MappedAddress()) return [network, bits];
  return [network.toIPv4Address(), bits - MAPPED_BITS];
}
