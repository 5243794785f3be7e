import { isIPv4, isIPv6 } from 'node:net';
import { type Setting, setting, splitList } from './setting-types.ts';

/**
 * The source address for outgoing SMTP connections in each address family: an address of this
 * machine, or `any`. Undefined disables the family; addresses of receivers in it are skipped.
 */
export interface OutgoingAddresses {
  readonly ipv4: string | undefined;
  readonly ipv6: string | undefined;
}

/** The addresses that were configured explicitly. */
export function namedAddresses({ ipv4, ipv6 }: OutgoingAddresses): string[] {
  return [ipv4 ?? 'any', ipv6 ?? 'any'].filter((address) => address !== 'any');
}

export function outgoingAddresses(text: { description: string }): Setting<OutgoingAddresses> {
  return setting<OutgoingAddresses>(
    {
      ...text,
      default: { ipv4: 'any', ipv6: 'any' },
      defaultText: 'chosen by the operating system',
    },
    'an IPv4 address of this machine (or ipv4 for any), an IPv6 address (or ipv6 for any), or one of each separated by a comma',
    (value) => parseOutgoingAddresses(splitList(value)),
  );
}

/** At most one address of each family; undefined if that is not what they are. */
export function parseOutgoingAddresses(items: readonly string[]): OutgoingAddresses | undefined {
  const [ipv4, ...moreIpv4] = items.map(ipv4In).filter((found) => found !== undefined);
  const [ipv6, ...moreIpv6] = items.map(ipv6In).filter((found) => found !== undefined);
  const understood = [ipv4, ipv6].filter((found) => found !== undefined).length;
  if (moreIpv4.length + moreIpv6.length > 0 || understood === 0) return undefined;
  return understood === items.length ? { ipv4, ipv6 } : undefined;
}

function ipv4In(text: string): string | undefined {
  if (/^ipv4$/i.test(text) || text === '0.0.0.0') return 'any';
  return isIPv4(text) ? text : undefined;
}

/** IPv4-mapped IPv6 addresses are rejected: receivers are never reached through them. */
function ipv6In(text: string): string | undefined {
  if (/^ipv6$/i.test(text) || text === '::') return 'any';
  return isIPv6(text) && !/^::ffff:/i.test(text) ? text : undefined;
}
