import { randomFillSync } from 'node:crypto';

/**
 * Identifiers: a UUIDv7 inside (time-ordered, so rows and partitions stay in order of birth), a
 * TypeID outside: a type prefix and 26 characters of lower-case Crockford base32.
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
  | 'whk'
  | 'whd'
  | 'sup'
  | 'wsp'
  | 'req'
  | 'imp'
  | 'usr'
  | 'ses'
  | 'inv';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const VALUE_OF = new Map([...ALPHABET].map((character, value) => [character, value]));

let lastMs = 0;
let sequence = 0;
/** The last id made here, as four words of 32 bits: both of its spellings come from them. */
let w0 = 0;
let w1 = 0;
let w2 = 0;
let w3 = 0;
const pool = new Uint32Array(2 * 512);
let poolAt = pool.length;

/**
 * Ids ascend though the clock steps back, up to here. Where it is set back further it had been wrong,
 * and ids that went on from there would be rows of a time that has no partition yet. Readers by time
 * rely on it too.
 */
export const IDS_AHEAD_MAX_MS = 600_000;

/**
 * A UUIDv7 (RFC 9562) as 32 hex digits with hyphens. Within one process the 12 bits after the
 * millisecond count up, so ids made here are strictly ascending.
 */
export function uuidv7(nowMs: number): string {
  makeWords(nowMs);
  return spelled();
}

/** A fresh id in both of its forms. */
export function newIdPair(prefix: IdPrefix, nowMs: number): { uuid: string; id: string } {
  makeWords(nowMs);
  return { uuid: spelled(), id: encode(prefix, w0, w1, w2, w3) };
}

/** A fresh TypeID. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  makeWords(nowMs);
  return encode(prefix, w0, w1, w2, w3);
}

function makeWords(nowMs: number): void {
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

// biome-ignore format: a digit each, in rows of words
function spelled(): string {
  return String.fromCharCode(
    hex(w0 >>> 28), hex(w0 >>> 24), hex(w0 >>> 20), hex(w0 >>> 16), hex(w0 >>> 12), hex(w0 >>> 8), hex(w0 >>> 4), hex(w0),
    HYPHEN, hex(w1 >>> 28), hex(w1 >>> 24), hex(w1 >>> 20), hex(w1 >>> 16),
    HYPHEN, hex(w1 >>> 12), hex(w1 >>> 8), hex(w1 >>> 4), hex(w1),
    HYPHEN, hex(w2 >>> 28), hex(w2 >>> 24), hex(w2 >>> 20), hex(w2 >>> 16),
    HYPHEN, hex(w2 >>> 12), hex(w2 >>> 8), hex(w2 >>> 4), hex(w2),
    hex(w3 >>> 28), hex(w3 >>> 24), hex(w3 >>> 20), hex(w3 >>> 16), hex(w3 >>> 12), hex(w3 >>> 8), hex(w3 >>> 4), hex(w3),
  );
}

/** The millisecond at which a UUIDv7 was made. */
export function uuidTime(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** The smallest UUIDv7 of a millisecond: a bound for ranges and partitions. */
export function uuidFloor(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
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
 * On the path of every request: bits are moved by hand, because BigInt would cost ten times as much,
 * and all characters come at once, because joining them would cost four times as much. 128 bits are
 * 26 digits of five: the first holds the top three.
 */
// biome-ignore format: a digit each, in rows of words
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

/** The UUID inside a TypeID, or undefined when the text is not an id of this kind. */
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
