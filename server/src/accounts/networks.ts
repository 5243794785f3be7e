import ipaddr from 'ipaddr.js';

/** Addresses and networks that an operator named as proxies, or that a key is limited to. */
export class Networks {
  readonly #networks: [ipaddr.IPv4 | ipaddr.IPv6, number][];

  constructor(networks: readonly string[]) {
    this.#networks = networks.map((text) => {
      if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
      const address = ipaddr.process(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
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
