import { RCODE, type RecordData, type RecordType, type DnsResponse } from './dns-message.ts';

/** What the world says about one name and type. Only `failed` may turn out otherwise later. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | {
      kind: 'found';
      records: readonly RecordData[T][];
      /** The name at the end of the CNAME chain, the asked one when there is none. */
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

/** Absence without a word from the zone on how long it lasts. */
const NEGATIVE_TTL_SECONDS = 60;

/** Turns a reply into an answer for `name`; undefined when this server cannot tell (SERVFAIL, REFUSED). */
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

  const { canonical, cnameTtlSeconds: aliasTtlSeconds } = followCnames(response, type, name);
  const records: RecordData[T][] = [];
  let ttlSeconds = aliasTtlSeconds;
  for (const record of response.answers) {
    // Records of other names in the answer are not about our question: a classic way to poison.
    if (record.type !== type || record.name.toLowerCase() !== canonical) continue;
    records.push(record.data as RecordData[T]);
    ttlSeconds = Math.min(ttlSeconds, record.ttlSeconds);
  }
  if (records.length === 0) {
    const emptyTtlSeconds = Math.min(aliasTtlSeconds, negativeTtlSeconds);
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
  let aliasTtlSeconds = Number.POSITIVE_INFINITY;
  if (type === 'CNAME') return { canonical, cnameTtlSeconds: aliasTtlSeconds };
  for (let hops = 0; hops < CNAME_HOPS_MAX; hops++) {
    const alias = response.answers.find(
      (record) => record.type === 'CNAME' && record.name.toLowerCase() === canonical,
    );
    if (alias?.type !== 'CNAME') break;
    canonical = alias.data.toLowerCase();
    aliasTtlSeconds = Math.min(aliasTtlSeconds, alias.ttlSeconds);
  }
  return { canonical, cnameTtlSeconds: aliasTtlSeconds };
}
