import { timingSafeEqual } from 'node:crypto';
import { assert } from '../lib/assert.ts';
import { createHmacSha256, type Hmac } from '../lib/crypto/hmac.ts';

/**
 * The return path of a delivery (MAIL FROM). Its local part identifies the delivery and is
 * authenticated by a MAC, so that a bounce that arrives days later can be matched and none can be
 * forged. Lower-case base32, because some servers change the case.
 */
export interface ReturnPath {
  messageId: string;
  /**
   * The end of the ID of its workspace, in hexadecimal, so that not all workspaces have to be searched for
   * the message. The whole ID would not fit: a local part has at most 64 characters.
   */
  workspaceTail: string;
  /**
   * Undefined when several recipients shared the transaction; the bounce then names the recipient.
   */
  ordinal: number | undefined;
}

/** A process has one key, which every delivery needs. */
const hmacs = new WeakMap<Buffer, Hmac>();
const SHARED_ORDINAL = 0xff;
const UUID_BYTES = 16;
const TAIL_BYTES = 4;
/** In hexadecimal. */
const TAIL_CHARS = 2 * TAIL_BYTES;
const PAYLOAD_BYTES = UUID_BYTES + 1 + TAIL_BYTES;
const MAC_BYTES = 10;
/** The purpose is part of the MAC, so that an address of one kind cannot be used as another. */
const KINDS = {
  returnPath: { prefix: 'b-', purpose: Buffer.from('return-path') },
  unsubscribe: { prefix: 'u-', purpose: Buffer.from('unsubscribe') },
};
type AddressKind = keyof typeof KINDS;
const PREFIX = KINDS.returnPath.prefix;
/** In base32. */
const TOKEN_CHARS = Math.ceil(((PAYLOAD_BYTES + MAC_BYTES) * 8) / 5);

/** RFC 5321 section 4.5.3.1.3: a path has at most 256 octets, including its angle brackets. */
export const RETURN_PATH_HOST_OCTETS_MAX = 254 - PREFIX.length - TOKEN_CHARS - '@'.length;

/** What a signed address names. */
export interface AddressedDelivery {
  workspaceId: string;
  messageId: string;
  ordinal: number | undefined;
}

export function returnPathFor(delivery: AddressedDelivery, host: string, key: Buffer): string {
  return signedAddress('returnPath', delivery, host, key);
}

/** Where the recipient of a message writes to unsubscribe. The message has one recipient. */
export function unsubscribeAddressFor(
  message: Omit<AddressedDelivery, 'ordinal'>,
  host: string,
  key: Buffer,
): string {
  return signedAddress('unsubscribe', { ...message, ordinal: 0 }, host, key);
}

function workspaceTailOf(workspaceId: string): string {
  return workspaceId.slice(-TAIL_CHARS);
}

/** The delivery of a return path, or undefined when we did not issue it. */
export function parseReturnPath(address: string, key: Buffer): ReturnPath | undefined {
  return parseSignedAddress('returnPath', address, key);
}

export function parseUnsubscribeAddress(address: string, key: Buffer): ReturnPath | undefined {
  return parseSignedAddress('unsubscribe', address, key);
}

function signedAddress(
  kind: AddressKind,
  delivery: AddressedDelivery,
  host: string,
  key: Buffer,
): string {
  const payload = encodePayload(delivery);
  const token = Buffer.concat([payload, computeMac(kind, payload, key)]);
  return `${KINDS[kind].prefix}${encodeBase32(token)}@${host}`;
}

function parseSignedAddress(
  kind: AddressKind,
  address: string,
  key: Buffer,
): ReturnPath | undefined {
  const { prefix } = KINDS[kind];
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at).toLowerCase();
  if (at < 0 || !local.startsWith(prefix)) return undefined;
  const text = local.slice(prefix.length);
  const token = text.length === TOKEN_CHARS ? decodeBase32(text) : undefined;
  // The last character has spare bits: only the exact spelling that we issued is valid.
  if (!token || encodeBase32(token) !== text) return undefined;
  const payload = token.subarray(0, PAYLOAD_BYTES);
  const mac = token.subarray(PAYLOAD_BYTES);
  if (!timingSafeEqual(mac, computeMac(kind, payload, key))) return undefined;
  const hex = payload.toString('hex', 0, UUID_BYTES);
  const ordinal = payload[UUID_BYTES] as number;
  return {
    messageId: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
    workspaceTail: payload.toString('hex', UUID_BYTES + 1),
    ordinal: ordinal === SHARED_ORDINAL ? undefined : ordinal,
  };
}

/** Return paths of ours anywhere in a text, with their hosts. */
export function findReturnPaths(text: string, key: Buffer): (ReturnPath & { host: string })[] {
  const found: (ReturnPath & { host: string })[] = [];
  for (const [address] of text.matchAll(ANYWHERE)) {
    const path = parseReturnPath(address, key);
    if (path) found.push({ ...path, host: domainPart(address) });
    if (found.length >= FOUND_MAX) break;
  }
  return found;
}

/** Whether it has the form of an address that we sign. Costs nothing; the key decides. */
export function mayBeSignedAddress(address: string): boolean {
  return SIGNED_FORM.test(address);
}

const SIGNED_FORM = new RegExp(
  `^(?:${Object.values(KINDS)
    .map(({ prefix }) => prefix)
    .join('|')})[a-z2-7]{${TOKEN_CHARS}}@`,
  'i',
);

const COMPLAINTS_LOCAL_PART = 'complaints';

export function isComplaintsAddress(address: string): boolean {
  return address.toLowerCase().startsWith(`${COMPLAINTS_LOCAL_PART}@`);
}

export function domainPart(address: string): string {
  return address
    .slice(address.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/\.$/, '');
}

const ANYWHERE = new RegExp(`\\b${PREFIX}[a-z2-7]{${TOKEN_CHARS}}@[a-z0-9.-]{1,253}`, 'gi');
const FOUND_MAX = 10;

function encodePayload(delivery: AddressedDelivery): Buffer {
  const { workspaceId, messageId, ordinal = SHARED_ORDINAL } = delivery;
  assert(ordinal >= 0 && ordinal <= SHARED_ORDINAL, 'an ordinal fits into one byte');
  const octet = ordinal.toString(16).padStart(2, '0');
  return Buffer.from(messageId.replaceAll('-', '') + octet + workspaceTailOf(workspaceId), 'hex');
}

function computeMac(kind: AddressKind, named: Buffer, key: Buffer): Buffer {
  let hmac = hmacs.get(key);
  if (!hmac) {
    hmac = createHmacSha256(key);
    hmacs.set(key, hmac);
  }
  return hmac(Buffer.concat([KINDS[kind].purpose, named])).subarray(0, MAC_BYTES);
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

function encodeBase32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >>> bits) & 31];
    }
    value &= 31;
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text;
}

function decodeBase32(text: string): Buffer | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit < 0) return undefined;
    value = (value << 5) | digit;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((value >>> bits) & 0xff);
      value &= 0xff;
    }
  }
  return Buffer.from(bytes);
}
