import { type AddressInfo, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Whether an address and a port are one of the places on which this process takes mail. A place that
 * listens on all addresses is met at each of the machine's own.
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
    // "::" takes IPv4 too, "0.0.0.0" takes nothing else.
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
