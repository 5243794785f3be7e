import ipaddr from 'ipaddr.js';

/**
 * Whether an address belongs to the public internet. Anybody may publish an MX or a host that
 * points at our own network, so delivery must not follow it to loopback, private or link-local
 * addresses, nor to the cloud's metadata service (169.254.169.254).
 */
export function isPublicAddress(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.parse(ip);
  if (address.kind() === 'ipv4') return address.range() === 'unicast';
  const inner = embeddedIpv4(address as ipaddr.IPv6);
  if (inner) return isPublicAddress(inner);
  return address.range() === 'unicast';
}

/** IPv6 addresses that a router or this machine turns into the IPv4 address inside them. */
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
