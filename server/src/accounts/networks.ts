import ipaddr from 'ipaddr.js';

/** Addresses and networks that an operator named as proxies, or that a key is limited to. */
export class Networks {
  readonly #networks: [ipaddr.IPv4 | ipaddr.IPv6, number][];

  constructor(networks: readonly string[]) {
    this.#networks = networks.map((text) => {
      if (ipaddr.isValidCIDR(text)) return unmapped(ipaddr.parseCIDR(text));
      const address = ipaddr.process(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** Whether all addresses of a network, or of one in CIDR form, are among these. */
  hold(text: string): boolean {
    const [[network, bits]] = new Networks([text]).#networks as [
      [ipaddr.IPv4 | ipaddr.IPv6, number],
    ];
    return this.#networks.some(
      ([outer, outerBits]) =>
        outer.kind() === network.kind() && outerBits <= bits && network.match(outer, outerBits),
    );
  }

  /** An IPv4 address that is written as an IPv6 one is that IPv4 address. */
  include(ip: string): boolean {
    if (!ipaddr.isValid(ip)) return false;
    const address = ipaddr.process(ip);
    return this.#networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  }
}

const MAPPED_BITS = 96;

/** A network of IPv4 addresses that are written as IPv6 ones is that network of IPv4. */
function unmapped([network, bits]: [ipaddr.IPv4 | ipaddr.IPv6, number]): [
  ipaddr.IPv4 | ipaddr.IPv6,
  number,
] {
  if (network instanceof ipaddr.IPv4 || bits < MAPPED_BITS) return [network, bits];
  if (!network.isIPv4MappedAddress()) return [network, bits];
  return [network.toIPv4Address(), bits - MAPPED_BITS];
}
