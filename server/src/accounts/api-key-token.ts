import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Mode } from './tenant-scope.ts';

/**
 * The secret of an API key: `pr_live_` or `pr_test_`, 32 random base62 characters, and a
 * 6-character CRC-32 of everything before. With the checksum, secret scanners and we can tell a
 * typo from a key without a database lookup. Only the SHA-256 of the secret is stored.
 */

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TOKEN = /^pr_(live|test)_[0-9A-Za-z]{38}$/;
const OPERATOR_PREFIX = 'pr_operator_';
const OPERATOR_TOKEN = /^pr_operator_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

export function newToken(mode: Mode): string {
  return withChecksum(`pr_${mode}_${randomText(BASE62, 32)}`);
}

/** The secret of an operator key. Its prefix keeps it from being mistaken for a key of a workspace. */
export function newOperatorToken(): string {
  return withChecksum(`${OPERATOR_PREFIX}${randomText(BASE62, 32)}`);
}

/** The secret of an SES credential. It has another prefix, because it is not an API key. */
export function newSesSecret(): string {
  return withChecksum(`pr_ses_${randomText(BASE62, 32)}`);
}

/** Only upper-case letters and digits, like the access key IDs of AWS, and not confused with them. */
export function newAccessKeyId(mode: Mode): string {
  return `PR${mode.toUpperCase()}${randomText(BASE32, 14)}`;
}

/** Whether the text has the format of a key and a valid checksum. */
export function isToken(text: string): boolean {
  return TOKEN.test(text) && hasChecksum(text);
}

/** Whether the text has the format of an operator key and a valid checksum. */
export function isOperatorToken(text: string): boolean {
  return OPERATOR_TOKEN.test(text) && hasChecksum(text);
}

/** Whether the text is meant to be an operator key, valid or not. */
export function hasOperatorPrefix(text: string): boolean {
  return text.startsWith(OPERATOR_PREFIX);
}

export function isAccessKeyId(text: string): boolean {
  return /^PR(LIVE|TEST)[A-Z2-7]{14}$/.test(text);
}

export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The part of a key that may always be shown: its prefix and last four characters. */
export function tokenHint(token: string): string {
  return `${token.slice(0, token.lastIndexOf('_') + 1)}…${token.slice(-4)}`;
}

function hasChecksum(text: string): boolean {
  return checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

function randomText(alphabet: string, length: number): string {
  let text = '';
  for (let i = 0; i < length; i++) text += alphabet[randomInt(alphabet.length)];
  return text;
}

function withChecksum(body: string): string {
  return body + checksumOf(body);
}

function checksumOf(body: string): string {
  let value = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = BASE62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}
