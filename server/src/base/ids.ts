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
/** The first 13 characters of ids of the last millisecond: most ids share them with their neighbour. */
let timePart = '';
const pool = new Uint8Array(8 * 512);
let poolAt = pool.length;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUIDv7 (RFC 9562) as 32 hex digits with hyphens. Within one process the 12 bits after the
 * millisecond count up, so ids made here are strictly ascending.
 */
export function uuidv7(nowMs: number): string {
  if (nowMs > lastMs) startMillisecond(nowMs);
  else if (++sequence > 0xfff) startMillisecond(lastMs + 1);
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const at = poolAt;
  poolAt += 8;
  const counter = `${HEX[0x70 | (sequence >>> 8)]}${HEX[sequence & 0xff]}`;
  return `${timePart}-${counter}-${HEX[((pool[at] as number) & 0x3f) | 0x80]}${hex(at + 1)}-${hex(at + 2)}${hex(at + 3)}${hex(at + 4)}${hex(at + 5)}${hex(at + 6)}${hex(at + 7)}`;
}

function startMillisecond(ms: number): void {
  lastMs = ms;
  sequence = 0;
  const time = ms.toString(16).padStart(12, '0');
  timePart = `${time.slice(0, 8)}-${time.slice(8)}`;
}

function hex(at: number): string {
  return HEX[pool[at] as number] as string;
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

/** Two digits at a time: half the look-ups, and half the pieces of text to join. */
const PAIRS = Array.from(
  { length: 1024 },
  (_, value) => `${ALPHABET[value >>> 5]}${ALPHABET[value & 31]}`,
);

/** On the path of every request: bits are moved by hand, because BigInt would cost ten times as much. */
export function encodeId(prefix: IdPrefix, uuid: string): string {
  const w0 = Number.parseInt(uuid.slice(0, 8), 16);
  const w1 = Number.parseInt(uuid.slice(9, 13) + uuid.slice(14, 18), 16);
  const w2 = Number.parseInt(uuid.slice(19, 23) + uuid.slice(24, 28), 16);
  const w3 = Number.parseInt(uuid.slice(28), 16);
  // 128 bits are 26 digits of five, 13 pairs of ten: the first pair holds the top eight bits.
  return `${prefix}_${pair(w0 >>> 24)}${pair(w0 >>> 14)}${pair(w0 >>> 4)}${pair(
    (w0 << 6) | (w1 >>> 26),
  )}${pair(w1 >>> 16)}${pair(w1 >>> 6)}${pair((w1 << 4) | (w2 >>> 28))}${pair(w2 >>> 18)}${pair(
    w2 >>> 8,
  )}${pair((w2 << 2) | (w3 >>> 30))}${pair(w3 >>> 20)}${pair(w3 >>> 10)}${pair(w3)}`;
}

function pair(value: number): string {
  return PAIRS[value & 1023] as string;
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

/** A fresh TypeID. */
export function newId(prefix: IdPrefix, nowMs: number): string {
  return encodeId(prefix, uuidv7(nowMs));
}
