import type { MxRecord } from '../dns/dns-message.ts';
import type { Resolver } from '../dns/resolver.ts';

/** Resolves as node:dns does, which is the interface of mailauth. */
export type MailauthResolver = (name: string, type: string) => Promise<unknown[]>;

export function mailauthResolver(resolver: Resolver): MailauthResolver {
  return async (name, type) => {
    if (!isSupported(type)) throw dnsError('ENODATA');
    const answer = await resolver.lookup(type, name);
    switch (answer.kind) {
      case 'found':
        return type === 'MX'
          ? (answer.records as readonly MxRecord[]).map(({ host, preference }) => ({
              exchange: host,
              priority: preference,
            }))
          : type === 'TXT'
            ? (answer.records as readonly (readonly string[])[]).filter(isShort)
            : [...answer.records];
      case 'nodata':
        throw dnsError('ENODATA');
      case 'nxdomain':
        throw dnsError('ENOTFOUND');
      case 'failed':
        throw dnsError('ESERVFAIL');
    }
  };
}

/**
 * The senders of mail write the records, and long ones take the library quadratic time. Those of real
 * policies and keys have a few hundred characters.
 */
export function isShort(record: readonly string[]): boolean {
  return record.reduce((length, text) => length + text.length, 0) <= TXT_CHARS_MAX;
}

const TXT_CHARS_MAX = 4096;

const SUPPORTED = ['A', 'AAAA', 'MX', 'PTR', 'TXT'] as const;

function isSupported(type: string): type is (typeof SUPPORTED)[number] {
  return (SUPPORTED as readonly string[]).includes(type);
}

export type DnsErrorCode = 'ENODATA' | 'ENOTFOUND' | 'ESERVFAIL';

export function dnsError(code: DnsErrorCode): Error {
  return Object.assign(new Error(code), { code });
}
