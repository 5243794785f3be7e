import { type AddressInfo, createServer, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Whether an address belongs to this machine: only then can a socket bind to it. */
export function isLocalAddress(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(true)));
  });
}

/**
 * Whether an address and port are one of this process's own listeners. A wildcard listener is
 * reachable at every address of the machine.
 */
export function isOwnListener(
  listeners: readonly AddressInfo[],
  ip: string,
  port: number,
): boolean {
  const target = unmapIpv4(ip);
  return listeners.some((place) => {
    if (place.port !== port) return false;
    const address = unmapIpv4(place.address);
    if (address === target) return true;
    if (address !== '0.0.0.0' && address !== '::') return false;
    // A listener on "::" also accepts IPv4; one on "0.0.0.0" accepts IPv4 only.
    return (address === '::' || !isIPv6(target)) && interfaceAddresses().has(target);
  });
}

function interfaceAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? []);
  return new Set(all.map(({ address }) => unmapIpv4(address)));
}

function unmapIpv4(ip: string): string {
  return ip.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
}
