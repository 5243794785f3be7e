import { isIP } from 'node:net';

/**
 * Whether a text is an IP address or a network in CIDR notation. Short forms such as 1.2.3, which C
 * libraries read as 1.2.0.3, are rejected: they are usually typing mistakes.
 */
export function isIpOrCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}
