import { randomFillSync } from 'node:crypto';

/**
 * Identifiers. The database stores UUIDv7, which is ordered by creation time. The API shows TypeIDs: a
 * type prefix and 26 characters of lowercase Crockford base32.
 */

export type IdPrefix =
  | 'msg'
  | 'evt'
  | 'tpl'
  | 'lay'
  | 'prt'
  | 'ctc'
  | 'dom'
  | 'key'
  | 'opk'
  | 'whk'
  | 'whd'
  | 'sup'
  | 'wsp'
  | 'req'
  | 'imp'
  | 'usr'
  | 'ses'
  | 'inv'
  | 'bat'
  | 'psk'
  | 'aud';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const VALUE_OF = new Map([...ALPHABET].map((character, value) => [character, value]));

let lastMs = 0;
let sequence = 0;
/** The last id as four 32-bit words, from which both formats are written. */
let w0 = 0;
let w1 = 0;
let w2 = 0;
let w3 = 0;
const pool = new Uint32Array(2 * 512);
let poolAt = pool.length;

/**
 * Ids keep ascending if the clock is set back by up to this much. If it is set back further, it was
 * wrong before, and continuing from there would create ids for which no partition exists yet. Readers
 * that filter by time rely on this limit too.
 */
export const IDS_AHEAD_MAX_MS = 600_000;

/**
 * A UUIDv7 (RFC 9562) as 32 hex digits with hyphens. Within one process the 12 bits after the
 * millisecond are a counter, so ids of a process are strictly ascending.
 */
export function uuidv7(nowMs: number): string {
  generateWords(nowMs);
  return formatUuid();
}

/** A new id in both formats. */
export function newIdPair(prefix: IdPrefix, nowMs: number): { uuid: string; id: string } {
  generateWords(nowMs);
  return { uuid: formatUuid(), id: encode(prefix, w0, w1, w2, w3) };
}

/** A new TypeID. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  generateWords(nowMs);
  return encode(prefix, w0, w1, w2, w3);
}

function generateWords(nowMs: number): void {
  if (nowMs > lastMs || lastMs - nowMs > IDS_AHEAD_MAX_MS) startMillisecond(nowMs);
  else if (++sequence > 0xfff) startMillisecond(lastMs + 1);
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  w1 = ((lastMs % 0x1_0000) << 16) | 0x7000 | sequence;
  w2 = ((pool[poolAt++] as number) & 0x3fff_ffff) | 0x8000_0000;
  w3 = pool[poolAt++] as number;
}

function startMillisecond(ms: number): void {
  lastMs = ms;
  sequence = 0;
  w0 = Math.floor(ms / 0x1_0000);
}

const HEX = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const HYPHEN = 0x2d;

function hex(value: number): number {
  return HEX[value & 15] as number;
}

// biome-ignore format: one line per 32-bit word
function formatUuid(): string {
  return String.fromCharCode(
    hex(w0 >>> 28), hex(w0 >>> 24), hex(w0 >>> 20), hex(w0 >>> 16), hex(w0 >>> 12), hex(w0 >>> 8), hex(w0 >>> 4), hex(w0),
    HYPHEN, hex(w1 >>> 28), hex(w1 >>> 24), hex(w1 >>> 20), hex(w1 >>> 16),
    HYPHEN, hex(w1 >>> 12), hex(w1 >>> 8), hex(w1 >>> 4), hex(w1),
    HYPHEN, hex(w2 >>> 28), hex(w2 >>> 24), hex(w2 >>> 20), hex(w2 >>> 16),
    HYPHEN, hex(w2 >>> 12), hex(w2 >>> 8), hex(w2 >>> 4), hex(w2),
    hex(w3 >>> 28), hex(w3 >>> 24), hex(w3 >>> 20), hex(w3 >>> 16), hex(w3 >>> 12), hex(w3 >>> 8), hex(w3 >>> 4), hex(w3),
  );
}

/** The creation time of a UUIDv7 in milliseconds. */
export function uuidTime(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** The smallest UUIDv7 of a millisecond: a bound for ranges and partitions. */
export function uuidFloor(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/** No UUID is larger: the bound of a range without an end. */
export const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The smallest and the largest of some ids: bounds that let PostgreSQL prune partitions. */
export function uuidRange(uuids: readonly string[]): [oldest: string, newest: string] {
  const sorted = [...uuids].sort();
  return [sorted[0] ?? '', sorted.at(-1) ?? ''];
}

export function encodeId(prefix: IdPrefix, uuid: string): string {
  return encode(
    prefix,
    Number.parseInt(uuid.slice(0, 8), 16),
    Number.parseInt(uuid.slice(9, 13) + uuid.slice(14, 18), 16),
    Number.parseInt(uuid.slice(19, 23) + uuid.slice(24, 28), 16),
    Number.parseInt(uuid.slice(28), 16),
  );
}

/**
 * Runs for every request. Shifting 32-bit words is ten times as fast as BigInt, and one call of
 * fromCharCode four times as fast as joining characters. 128 bits are 26 digits of five bits; the first
 * digit contains the top three bits.
 */
// biome-ignore format: one line per 32-bit word
function encode(prefix: IdPrefix, a: number, b: number, c: number, d: number): string {
  const digits = String.fromCharCode(
    digit(a >>> 29), digit(a >>> 24), digit(a >>> 19), digit(a >>> 14), digit(a >>> 9), digit(a >>> 4),
    digit((a << 1) | (b >>> 31)),
    digit(b >>> 26), digit(b >>> 21), digit(b >>> 16), digit(b >>> 11), digit(b >>> 6), digit(b >>> 1),
    digit((b << 4) | (c >>> 28)),
    digit(c >>> 23), digit(c >>> 18), digit(c >>> 13), digit(c >>> 8), digit(c >>> 3),
    digit((c << 2) | (d >>> 30)),
    digit(d >>> 25), digit(d >>> 20), digit(d >>> 15), digit(d >>> 10), digit(d >>> 5), digit(d),
  );
  return `${prefix}_${digits}`;
}

const DIGITS = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0));

function digit(value: number): number {
  return DIGITS[value & 31] as number;
}

/** The UUID of a TypeID, or undefined if the text is not an id with this prefix. */
export function decodeId(prefix: IdPrefix, text: string): string | undefined {
  if (text.length !== prefix.length + 27 || !text.startsWith(`${prefix}_`)) return undefined;
  let value = 0n;
  for (const character of text.slice(prefix.length + 1)) {
    const digit = VALUE_OF.get(character);
    if (digit === undefined) return undefined;
    value = (value << 5n) | BigInt(digit);
  }
  if (value >> 128n) return undefined;
  const hex = value.toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The 16 bytes of a UUID, for compact tokens. */
export function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

export function bytesToUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
