import ipaddr from 'ipaddr.js';

/**
 * The network that attempts from an address are counted by: an IPv4 address itself, and the /64 of an
 * IPv6 one, because whoever has one address of it has them all.
 */
export function clientNetwork(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return address.toByteArray().slice(0, 8).map(hex).join('');
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

/** Whether a request came from this very machine, as far as its address tells. */
export function isLoopback(ip: string): boolean {
  return ipaddr.isValid(ip) && ipaddr.process(ip).range() === 'loopback';
}
