import ipaddr from 'ipaddr.js';

/** The PTR name of an IP address (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function reverseName(ip: string): string {
  const address = ipaddr.parse(ip);
  const bytes = address.toByteArray();
  if (address.kind() === 'ipv4') return `${bytes.reverse().join('.')}.in-addr.arpa`;
  const digits = Buffer.from(bytes).toString('hex');
  return `${[...digits].reverse().join('.')}.ip6.arpa`;
}
