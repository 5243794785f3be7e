/**
 * Encodes DNS queries and decodes untrusted responses (RFC 1035, with EDNS0 of RFC 6891). Every
 * length is checked against the enclosing record, and compression pointers may only point
 * backwards, so no message can cause a loop or an out-of-bounds read.
 */

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'NS' | 'PTR' | 'TXT' | 'TLSA';

export interface MxRecord {
  preference: number;
  /** Empty for the root name, which denotes a null MX (RFC 7505). */
  host: string;
}

export interface TlsaRecord {
  usage: number;
  selector: number;
  matchingType: number;
  data: Buffer;
}

export interface RecordData {
  A: string;
  AAAA: string;
  CNAME: string;
  MX: MxRecord;
  NS: string;
  PTR: string;
  /** The character strings as published; joined without spaces they are the text. */
  TXT: readonly string[];
  TLSA: TlsaRecord;
}

export interface DnsQuery {
  id: number;
  name: string;
  type: RecordType;
  /** Disabled only for servers that do not understand the OPT record. */
  edns: boolean;
  /** Asks the resolver to validate DNSSEC and to report the result in the AD bit. */
  requestAuthenticated: boolean;
}

export interface DnsResponse {
  id: number;
  rcode: number;
  truncated: boolean;
  authenticated: boolean;
  question: { name: string; type: number } | undefined;
  answers: readonly DnsRecord[];
  /** How long a negative answer may be cached (RFC 2308 section 5), if the zone says so. */
  negativeTtlSeconds: number | undefined;
}

export type DnsRecord = {
  [T in RecordType]: { type: T; name: string; ttlSeconds: number; data: RecordData[T] };
}[RecordType];

export const TYPE_CODES: Readonly<Record<RecordType, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  TLSA: 52,
};
export const RCODE = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };

const SOA = 6;
const OPT = 41;
const CLASS_IN = 1;
const HEADER_LENGTH = 12;
/** Fits every path without fragmentation; fragments are easier to forge than whole datagrams. */
const UDP_PAYLOAD_MAX = 1232;

const RESPONSE = 1 << 15;
const OPCODE_MASK = 0xf << 11;
const TRUNCATED = 1 << 9;
const RECURSION_DESIRED = 1 << 8;
const AUTHENTIC_DATA = 1 << 5;
const DNSSEC_OK = 1 << 15;

export function encodeQuery(query: DnsQuery): Buffer {
  const message = Buffer.alloc(HEADER_LENGTH + query.name.length + 6 + (query.edns ? 11 : 0));
  message.writeUInt16BE(query.id, 0);
  // RFC 6840 section 5.7: AD in a query requests AD in the response.
  message.writeUInt16BE(RECURSION_DESIRED | (query.requestAuthenticated ? AUTHENTIC_DATA : 0), 2);
  message.writeUInt16BE(1, 4);
  const afterName = writeName(message, HEADER_LENGTH, query.name);
  message.writeUInt16BE(TYPE_CODES[query.type], afterName);
  message.writeUInt16BE(CLASS_IN, afterName + 2);
  if (query.edns) {
    message.writeUInt16BE(1, 10);
    message.writeUInt16BE(OPT, afterName + 5);
    message.writeUInt16BE(UDP_PAYLOAD_MAX, afterName + 7);
    message.writeUInt16BE(query.requestAuthenticated ? DNSSEC_OK : 0, afterName + 11);
  }
  return message;
}

/** The decoded response, or undefined when the bytes are malformed. */
export function decodeResponse(bytes: Buffer): DnsResponse | undefined {
  try {
    return readResponse(bytes);
  } catch (error) {
    // Buffer's own bounds checks throw RangeError; anything else would be a bug.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readResponse(bytes: Buffer): DnsResponse | undefined {
  const flags = bytes.readUInt16BE(2);
  if (!(flags & RESPONSE) || flags & OPCODE_MASK) return undefined;
  const questions = bytes.readUInt16BE(4);
  if (questions > 1) return undefined;
  const response: DnsResponse = {
    id: bytes.readUInt16BE(0),
    rcode: flags & 0xf,
    truncated: (flags & TRUNCATED) !== 0,
    authenticated: (flags & AUTHENTIC_DATA) !== 0,
    question: undefined,
    answers: [],
    negativeTtlSeconds: undefined,
  };
  let at = HEADER_LENGTH;
  if (questions === 1) {
    const { name, end } = readName(bytes, at);
    if (bytes.readUInt16BE(end + 2) !== CLASS_IN) return undefined;
    response.question = { name, type: bytes.readUInt16BE(end) };
    at = end + 4;
  }
  // A truncated message may end in half a record; the query is repeated over TCP.
  if (response.truncated) return response;

  const answers: DnsRecord[] = [];
  for (let left = bytes.readUInt16BE(6); left > 0; left--) {
    const raw = readRawRecord(bytes, at);
    at = raw.end;
    const record = readKnownRecord(bytes, raw);
    if (record) answers.push(record);
  }
  for (let left = bytes.readUInt16BE(8); left > 0; left--) {
    const raw = readRawRecord(bytes, at);
    at = raw.end;
    if (raw.type === SOA) {
      const minimum = bytes.readUInt32BE(raw.end - 4);
      response.negativeTtlSeconds = Math.min(raw.ttlSeconds, minimum);
    }
  }
  return { ...response, answers };
}

interface RawRecord {
  name: string;
  type: number;
  class: number;
  ttlSeconds: number;
  start: number;
  end: number;
}

function readRawRecord(bytes: Buffer, at: number): RawRecord {
  const { name, end: afterName } = readName(bytes, at);
  const ttl = bytes.readUInt32BE(afterName + 4);
  const start = afterName + 10;
  const end = start + bytes.readUInt16BE(afterName + 8);
  if (end > bytes.length) throw new RangeError('record ends beyond its message');
  return {
    name,
    type: bytes.readUInt16BE(afterName),
    class: bytes.readUInt16BE(afterName + 2),
    // RFC 2181 section 8: a TTL with the top bit set counts as zero.
    ttlSeconds: ttl > 0x7fffffff ? 0 : ttl,
    start,
    end,
  };
}

function readKnownRecord(bytes: Buffer, raw: RawRecord): DnsRecord | undefined {
  if (raw.class !== CLASS_IN) return undefined;
  const { name, ttlSeconds, start, end } = raw;
  const length = end - start;
  switch (raw.type) {
    case TYPE_CODES.A:
      requireWellFormed(length === 4);
      return { type: 'A', name, ttlSeconds, data: bytes.subarray(start, end).join('.') };
    case TYPE_CODES.AAAA:
      requireWellFormed(length === 16);
      return { type: 'AAAA', name, ttlSeconds, data: formatIpv6(bytes, start) };
    case TYPE_CODES.CNAME:
      return { type: 'CNAME', name, ttlSeconds, data: readNameUpTo(bytes, start, end) };
    case TYPE_CODES.NS:
      return { type: 'NS', name, ttlSeconds, data: readNameUpTo(bytes, start, end) };
    case TYPE_CODES.PTR:
      return { type: 'PTR', name, ttlSeconds, data: readNameUpTo(bytes, start, end) };
    case TYPE_CODES.MX: {
      requireWellFormed(length >= 3);
      const host = readNameUpTo(bytes, start + 2, end);
      return {
        type: 'MX',
        name,
        ttlSeconds,
        data: { preference: bytes.readUInt16BE(start), host },
      };
    }
    case TYPE_CODES.TXT:
      return { type: 'TXT', name, ttlSeconds, data: readStrings(bytes, start, end) };
    case TYPE_CODES.TLSA: {
      requireWellFormed(length >= 3);
      const data = {
        usage: bytes.readUInt8(start),
        selector: bytes.readUInt8(start + 1),
        matchingType: bytes.readUInt8(start + 2),
        // A copy, because the cached record outlives the datagram.
        data: Buffer.from(bytes.subarray(start + 3, end)),
      };
      return { type: 'TLSA', name, ttlSeconds, data };
    }
    default:
      return undefined;
  }
}

function requireWellFormed(wellFormed: boolean): void {
  if (!wellFormed) throw new RangeError('malformed record');
}

function readStrings(bytes: Buffer, start: number, end: number): string[] {
  const strings: string[] = [];
  for (let at = start; at < end; ) {
    const next = at + 1 + bytes.readUInt8(at);
    requireWellFormed(next <= end);
    // NUL is replaced like invalid UTF-8; PostgreSQL cannot store it.
    strings.push(bytes.toString('utf8', at + 1, next).replaceAll('\0', '\ufffd'));
    at = next;
  }
  return strings;
}

function formatIpv6(bytes: Buffer, start: number): string {
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(bytes.readUInt16BE(start + i).toString(16));
  return compressIpv6(groups);
}

/** RFC 5952: the longest run of two or more zero groups becomes `::`. */
function compressIpv6(groups: string[]): string {
  let bestStart = -1;
  let bestLength = 1;
  for (let i = 0; i < groups.length; i++) {
    let length = 0;
    while (groups[i + length] === '0') length++;
    if (length > bestLength) {
      bestStart = i;
      bestLength = length;
    }
  }
  if (bestStart < 0) return groups.join(':');
  const before = groups.slice(0, bestStart).join(':');
  const after = groups.slice(bestStart + bestLength).join(':');
  return `${before}::${after}`;
}

function readNameUpTo(bytes: Buffer, start: number, end: number): string {
  const read = readName(bytes, start);
  requireWellFormed(read.end <= end);
  return read.name;
}

function readName(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  let end = 0;
  let length = 0;
  // A pointer must point before the place it was read from, so the loop always ends.
  let pointerLimit = start;
  for (;;) {
    const size = bytes.readUInt8(at);
    if ((size & 0xc0) === 0xc0) {
      const target = bytes.readUInt16BE(at) & 0x3fff;
      requireWellFormed(target < pointerLimit);
      if (end === 0) end = at + 2;
      at = target;
      pointerLimit = target;
      continue;
    }
    requireWellFormed(size <= 63);
    at += 1;
    if (size === 0) return { name: labels.join('.'), end: end === 0 ? at : end };
    length += size + 1;
    requireWellFormed(length <= 254 && at + size <= bytes.length);
    labels.push(readLabel(bytes, at, at + size));
    at += size;
  }
}

/** Bytes with a special meaning in the text form become `\DDD` (RFC 1035 section 5.1). */
function readLabel(bytes: Buffer, start: number, end: number): string {
  const label = bytes.toString('utf8', start, end);
  return label.replace(/[\0-\x20.\\\x7f]/g, (character) => {
    return `\\${character.charCodeAt(0).toString().padStart(3, '0')}`;
  });
}

/** Writes a name of plain labels and returns where it ends. */
function writeName(message: Buffer, start: number, name: string): number {
  message.write(name, start + 1, 'latin1');
  let label = start;
  const end = start + 1 + name.length;
  // Every dot is the place of the length of the label behind it.
  for (let at = start + 1; at <= end; at++) {
    if (at < end && message[at] !== DOT) continue;
    message[label] = at - label - 1;
    label = at;
  }
  message[end] = 0;
  return end + 1;
}

const DOT = 0x2e;
