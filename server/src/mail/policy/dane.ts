import type { TlsaRecord } from '../dns/dns-message.ts';
import type { Resolver } from '../dns/resolver.ts';
import type { MxHost } from './mx.ts';

/**
 * The DANE requirements of one mail host (RFC 7672). Only DNSSEC-validated answers count: the MX,
 * the host's addresses and the TLSA records. If the zone is signed and the TLSA lookup fails, the
 * host must not be used at all, because an attacker could cause that failure.
 */

export type DaneResult =
  | { kind: 'absent' }
  | { kind: 'usable'; records: readonly TlsaRecord[]; names: readonly string[] }
  /**
   * Records exist, but none is usable: TLS is required, without authentication of the certificate.
   */
  | { kind: 'unusable' }
  | { kind: 'temporary'; detail: string };

export interface DaneQuery {
  domain: string;
  host: MxHost;
  /** Whether the MX answer that named this host was DNSSEC-validated. */
  routeAuthenticated: boolean;
  port: number;
}

export async function lookUpDane(query: DaneQuery, resolver: Resolver): Promise<DaneResult> {
  if (!query.routeAuthenticated) return { kind: 'absent' };
  for (const base of await baseNames(query.host, resolver)) {
    const answer = await resolver.lookup('TLSA', `_${query.port}._tcp.${base}`);
    if (answer.kind === 'failed') return { kind: 'temporary', detail: answer.detail };
    if (answer.kind !== 'found' || !answer.authenticated) continue;
    const records = strongestDigests(answer.records.filter(isUsable));
    if (records.length === 0) return { kind: 'unusable' };
    const names = [...new Set([base, query.host.host, query.domain])];
    return { kind: 'usable', records, names };
  }
  return { kind: 'absent' };
}

/**
 * RFC 7672 section 2.2.2: TLSA records are at the end of the host's CNAME chain, or else at the
 * host itself. Unsigned zones are not queried, because many of their servers fail on unknown types.
 */
async function baseNames(host: MxHost, resolver: Resolver): Promise<string[]> {
  if (host.authenticated) return [...new Set([host.canonical, host.host])];
  if (host.canonical === host.host) return [];
  const alias = await resolver.lookup('CNAME', host.host);
  return alias.kind === 'found' && alias.authenticated ? [host.host] : [];
}

const DIGEST_LENGTHS: Readonly<Record<number, number>> = { 1: 32, 2: 64 };

/** Only DANE-TA (2) and DANE-EE (3): usages 0 and 1 do not apply to SMTP (section 3.1.3). */
function isUsable({ usage, selector, matchingType, data }: TlsaRecord): boolean {
  if (usage !== 2 && usage !== 3) return false;
  if (selector !== 0 && selector !== 1) return false;
  if (matchingType === 0) return data.length > 0;
  return data.length === DIGEST_LENGTHS[matchingType];
}

/**
 * RFC 7671 section 9: of several digests for the same usage and selector only the strongest
 * algorithm counts, so that a weak one cannot be attacked.
 */
function strongestDigests(records: readonly TlsaRecord[]): TlsaRecord[] {
  return records.filter(
    (record) =>
      record.matchingType === 0 ||
      !records.some(
        (other) =>
          other.usage === record.usage &&
          other.selector === record.selector &&
          other.matchingType > record.matchingType,
      ),
  );
}
