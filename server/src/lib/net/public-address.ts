import ipaddr from 'ipaddr.js';

/**
 * Whether an address belongs to the public internet. Anyone can publish an MX record or a host name
 * that points into our own network, so delivery and webhooks must not connect to loopback, private
 * or link-local addresses, nor to the cloud metadata service (169.254.169.254).
 */
export function isPublicAddress(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.parse(ip);
  if (address.kind() === 'ipv4') return address.range() === 'unicast';
  const inner = embeddedIpv4(address as ipaddr.IPv6);
  if (inner) return isPublicAddress(inner);
  // Loopback, unspecified, and the deprecated form of RFC 4291 section 2.5.5.1 with an IPv4 address.
  if (
    address
      .toByteArray()
      .slice(0, 12)
      .every((byte) => byte === 0)
  )
    return false;
  return address.range() === 'unicast';
}

/** The IPv4 address inside an IPv6 address that a router or this machine translates to IPv4. */
function embeddedIpv4(address: ipaddr.IPv6): string | undefined {
  const bytes = address.toByteArray();
  switch (address.range()) {
    case 'ipv4Mapped':
    case 'rfc6052':
      return bytes.slice(12, 16).join('.');
    case '6to4':
      return bytes.slice(2, 6).join('.');
    default:
      return undefined;
  }
}
