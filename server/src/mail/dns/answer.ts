import { type DnsResponse, RCODE, type RecordData, type RecordType } from './dns-message.ts';

/** The answer for one name and type. Only `failed` is inconclusive. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | {
      kind: 'found';
      records: readonly RecordData[T][];
      /** The name at the end of the CNAME chain; the queried name when there is none. */
      canonical: string;
      authenticated: boolean;
    }
  | { kind: 'nodata'; authenticated: boolean }
  | { kind: 'nxdomain'; authenticated: boolean }
  | { kind: 'failed'; detail: string };

export interface DnsAnswerWithTtl<T extends RecordType = RecordType> {
  answer: DnsAnswer<T>;
  ttlSeconds: number;
}

const CNAME_HOPS_MAX = 12;

/** For negative answers without an SOA record. */
const NEGATIVE_TTL_SECONDS = 60;

/**
 * Turns a response into an answer for `name`; undefined when the server could not answer (SERVFAIL,
 * REFUSED).
 */
export function toDnsAnswer<T extends RecordType>(
  response: DnsResponse,
  type: T,
  name: string,
  trusted: boolean,
): DnsAnswerWithTtl<T> | undefined {
  const authenticated = trusted && response.authenticated;
  const negativeTtlSeconds = response.negativeTtlSeconds ?? NEGATIVE_TTL_SECONDS;
  if (response.rcode === RCODE.NXDOMAIN) {
    return { answer: { kind: 'nxdomain', authenticated }, ttlSeconds: negativeTtlSeconds };
  }
  if (response.rcode !== RCODE.NOERROR) return undefined;

  const { canonical, cnameTtlSeconds } = followCnames(response, type, name);
  const records: RecordData[T][] = [];
  let ttlSeconds = cnameTtlSeconds;
  for (const record of response.answers) {
    // Records for other names are ignored, because they are a classic way to poison a cache.
    if (record.type !== type || record.name.toLowerCase() !== canonical) continue;
    records.push(record.data as RecordData[T]);
    ttlSeconds = Math.min(ttlSeconds, record.ttlSeconds);
  }
  if (records.length === 0) {
    const emptyTtlSeconds = Math.min(cnameTtlSeconds, negativeTtlSeconds);
    return { answer: { kind: 'nodata', authenticated }, ttlSeconds: emptyTtlSeconds };
  }
  return { answer: { kind: 'found', records, canonical, authenticated }, ttlSeconds };
}

function followCnames(
  response: DnsResponse,
  type: RecordType,
  name: string,
): { canonical: string; cnameTtlSeconds: number } {
  let canonical = name;
  let cnameTtlSeconds = Number.POSITIVE_INFINITY;
  if (type === 'CNAME') return { canonical, cnameTtlSeconds };
  for (let hops = 0; hops < CNAME_HOPS_MAX; hops++) {
    const alias = response.answers.find(
      (record) => record.type === 'CNAME' && record.name.toLowerCase() === canonical,
    );
    if (alias?.type !== 'CNAME') break;
    canonical = alias.data.toLowerCase();
    cnameTtlSeconds = Math.min(cnameTtlSeconds, alias.ttlSeconds);
  }
  return { canonical, cnameTtlSeconds };
}
