import { type AddressInfo, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Whether an address and a port are one of the places on which this process takes mail. A place that
 * listens on all addresses is met at each of the machine's own.
 */
export function isOwnPlace(places: readonly AddressInfo[], ip: string, port: number): boolean {
  const wanted = plain(ip);
  return places.some((place) => {
    if (place.port !== port) return false;
    const address = plain(place.address);
    if (address === wanted) return true;
    if (address !== '0.0.0.0' && address !== '::') return false;
    // "::" takes IPv4 too, "0.0.0.0" takes nothing else.
    return (address === '::' || !isIPv6(wanted)) && ownAddresses().has(wanted);
  });
}

function ownAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? []);
  return new Set(all.map(({ address }) => plain(address)));
}

function plain(ip: string): string {
  return ip.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
}
