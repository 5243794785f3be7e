import { RCODE, type RecordData, type RecordType, type WireReply } from './dns-message.ts';

/** What the world says about one name and type. Only `failed` may turn out otherwise later. */
export type Answer<T extends RecordType = RecordType> =
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

export interface TimedAnswer<T extends RecordType = RecordType> {
  answer: Answer<T>;
  ttlSeconds: number;
}

const ALIASES_MAX = 12;

/** Absence without a word from the zone on how long it lasts. */
const NEGATIVE_TTL_SECONDS = 60;

/** Turns a reply into an answer for `name`; undefined when this server cannot tell (SERVFAIL, REFUSED). */
export function readAnswer<T extends RecordType>(
  reply: WireReply,
  type: T,
  name: string,
  trusted: boolean,
): TimedAnswer<T> | undefined {
  const authenticated = trusted && reply.authenticated;
  const negativeTtlSeconds = reply.negativeTtlSeconds ?? NEGATIVE_TTL_SECONDS;
  if (reply.rcode === RCODE.NXDOMAIN) {
    return { answer: { kind: 'nxdomain', authenticated }, ttlSeconds: negativeTtlSeconds };
  }
  if (reply.rcode !== RCODE.NOERROR) return undefined;

  const { canonical, aliasTtlSeconds } = followAliases(reply, type, name);
  const records: RecordData[T][] = [];
  let ttlSeconds = aliasTtlSeconds;
  for (const record of reply.answers) {
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

function followAliases(
  reply: WireReply,
  type: RecordType,
  name: string,
): { canonical: string; aliasTtlSeconds: number } {
  let canonical = name;
  let aliasTtlSeconds = Number.POSITIVE_INFINITY;
  if (type === 'CNAME') return { canonical, aliasTtlSeconds };
  for (let hops = 0; hops < ALIASES_MAX; hops++) {
    const alias = reply.answers.find(
      (record) => record.type === 'CNAME' && record.name.toLowerCase() === canonical,
    );
    if (alias?.type !== 'CNAME') break;
    canonical = alias.data.toLowerCase();
    aliasTtlSeconds = Math.min(aliasTtlSeconds, alias.ttlSeconds);
  }
  return { canonical, aliasTtlSeconds };
}
