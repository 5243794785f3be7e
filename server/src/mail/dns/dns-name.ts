import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';

const LABELS_MAX_LENGTH = 253;
const LABEL_MAX_LENGTH = 63;
const PLAIN = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const IPV4_SHAPE = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * The canonical spelling of a domain name, for comparison and caching: lower case, A-labels, no
 * trailing dot. Undefined for text that is not a valid host or service name, so that such a name
 * never reaches a query, a log or an SMTP command.
 */
export function normalizeDnsName(text: string): string | undefined {
  let name = text;
  if (!PLAIN.test(name)) {
    name = name.toLowerCase();
    if (name.endsWith('.')) name = name.slice(0, -1);
    // domainToASCII also decodes %-escapes and full-width dots, so only names with non-ASCII
    // characters use it.
    if (/[^\0-\x7f]/.test(name)) name = /[%\\]/.test(name) ? '' : domainToASCII(name);
    if (!PLAIN.test(name)) return undefined;
  }
  if (name.length > LABELS_MAX_LENGTH) return undefined;
  if (name.length <= LABEL_MAX_LENGTH) return name;
  return name.split('.').every((label) => label.length <= LABEL_MAX_LENGTH) ? name : undefined;
}

/** Whether a valid DNS name is really an IP address entered in place of a host name. */
export function looksLikeIp(name: string): boolean {
  return IPV4_SHAPE.test(name) || name.includes(':');
}

/** The PTR name of an IP address (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function reverseName(ip: string): string {
  const address = ipaddr.parse(ip);
  const bytes = address.toByteArray();
  if (address.kind() === 'ipv4') return `${bytes.reverse().join('.')}.in-addr.arpa`;
  const digits = Buffer.from(bytes).toString('hex');
  return `${[...digits].reverse().join('.')}.ip6.arpa`;
}
