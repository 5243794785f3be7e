import { isIPv4, isIPv6 } from 'node:net';
import { listed, type Variable, variable } from './kinds.ts';

/**
 * What mail leaves from, for each kind of address: one of this machine, or `any` of them. Undefined:
 * mail does not leave by addresses of this kind, and those of receivers are passed over.
 */
export interface OutgoingAddresses {
  readonly ipv4: string | undefined;
  readonly ipv6: string | undefined;
}

/** Those that were named. */
export function namedAddresses({ ipv4, ipv6 }: OutgoingAddresses): string[] {
  return [ipv4 ?? 'any', ipv6 ?? 'any'].filter((address) => address !== 'any');
}

export function outgoingAddresses(told: { says: string }): Variable<OutgoingAddresses> {
  return variable<OutgoingAddresses>(
    { ...told, standard: { ipv4: 'any', ipv6: 'any' }, standardText: "the system's choice" },
    'an IPv4 address of this machine (or ipv4 for any of them), an IPv6 one (or ipv6), or one of each separated by a comma',
    (text) => {
      const items = listed(text);
      const [ipv4, ...moreIpv4] = items.map(ipv4In).filter((found) => found !== undefined);
      const [ipv6, ...moreIpv6] = items.map(ipv6In).filter((found) => found !== undefined);
      const understood = [ipv4, ipv6].filter((found) => found !== undefined).length;
      if (moreIpv4.length + moreIpv6.length > 0 || understood === 0) return undefined;
      return understood === items.length ? { ipv4, ipv6 } : undefined;
    },
  );
}

function ipv4In(text: string): string | undefined {
  if (/^ipv4$/i.test(text) || text === '0.0.0.0') return 'any';
  return isIPv4(text) ? text : undefined;
}

/** An IPv4 address written as an IPv6 one is neither what receivers see nor what they are reached by. */
function ipv6In(text: string): string | undefined {
  if (/^ipv6$/i.test(text) || text === '::') return 'any';
  return isIPv6(text) && !/^::ffff:/i.test(text) ? text : undefined;
}
