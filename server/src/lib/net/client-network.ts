import ipaddr from 'ipaddr.js';

/**
 * The network by which attempts from a client are counted: the address itself for IPv4, and its /64
 * for IPv6, because one subscriber controls the whole /64.
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

/** Whether an address is a loopback address, that is, the client runs on this machine. */
export function isLoopback(ip: string): boolean {
  return ipaddr.isValid(ip) && ipaddr.process(ip).range() === 'loopback';
}
