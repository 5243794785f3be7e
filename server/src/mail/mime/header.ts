import { assert } from '../../lib/assert.ts';
import type { NamedMailbox } from '../address.ts';
import { ENCODED_LINE_CHARS_MAX, encodedWords, WORD_CHARS_MIN } from './encoded-word.ts';

/**
 * Formats header fields (RFC 5322 sections 2.2 and 3.4, RFC 2047). Takes a name and untrusted text
 * or mailboxes; returns folded lines, each terminated by CRLF. Guarantees that any text stays
 * inside its own field and that mail clients display it unchanged.
 */

const LINE_CHARS_MAX = 78;
/** The hard limit of RFC 5322 section 2.1.1. */
const LINE_OCTETS_MAX = 998;
const HEADER_NAME_CHARS_MAX = 76;
/** Longer display names become encoded words, because a quoted string cannot be folded. */
const QUOTED_NAME_CHARS_MAX = 200;

/** RFC 5322 section 2.2: printable ASCII without colon and space. */
export function isHeaderName(name: string): boolean {
  return name.length <= HEADER_NAME_CHARS_MAX && /^[\x21-\x39\x3b-\x7e]+$/.test(name);
}

/** Whether callers must not set this header, because we write it or receivers trust it. */
export function isReservedHeader(name: string): boolean {
  return isStructuralHeader(name) || /^x-postrider-/i.test(name);
}

/** Whether a header is written only by compose(), or only by relays and receivers. */
export function isStructuralHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return STRUCTURAL.has(lower) || STRUCTURAL_FAMILY.test(lower);
}

const STRUCTURAL = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'sender',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'dkim-signature',
  'domainkey-signature',
  'authentication-results',
  'return-path',
  'delivered-to',
  'envelope-to',
  'x-original-to',
  'apparently-to',
]);
const STRUCTURAL_FAMILY = /^(content-|resent-|arc-|received|x-received)/;

/** A Message-ID without angle brackets. */
export function isMessageId(text: string): boolean {
  return MESSAGE_ID.test(text);
}

const MESSAGE_ID = /^[\x21-\x3b\x3d\x3f\x41-\x7e]{1,200}@[\x21-\x3b\x3d\x3f\x41-\x7e]{1,255}$/;

/** Reads the value of a Message-ID header. Undefined when it is not `<local@domain>`. */
export function parseMessageId(value: string): string | undefined {
  const inner = /^\s*<([^<>]*)>\s*$/.exec(value)?.[1];
  return inner !== undefined && isMessageId(inner) ? inner : undefined;
}

/** Why a text cannot be used in any header, for the caller; undefined when it can. */
export function headerTextError(text: string): string | undefined {
  if (/[\r\n]/.test(text)) return 'Header text must not contain line breaks.';
  if (text.includes('\0')) return 'Header text must not contain NUL.';
  return undefined;
}

/**
 * Why a value cannot be used in this header, for the caller. Headers with addresses for software
 * must not contain encoded words (RFC 2047 section 5): an unsubscribe button would not work.
 */
export function headerValueError(name: string, text: string): string | undefined {
  if (!isMachineReadable(name)) return undefined;
  const value = text.trim();
  if (!isAscii(value))
    return `${name} is read by software and must be ASCII: percent-encode other characters.`;
  if (foldedAtSpaces(`${name}: ${value}`, name.length + 2) !== undefined) return undefined;
  const charsMax = LINE_OCTETS_MAX - name.length - 2;
  return `${name} must not contain more than ${charsMax} characters without a space.`;
}

/** RFC 2369, RFC 2919, RFC 8058. */
function isMachineReadable(name: string): boolean {
  return /^list-/i.test(name);
}

/**
 * Formats an unstructured field, or a structured one given in its final form. ASCII is kept and
 * folded between words; anything else becomes encoded words.
 */
export function formatTextHeader(name: string, text: string): string {
  const error = headerTextError(text);
  assert(error === undefined, `${name}: ${error}`);
  const value = text.trim();
  if (value === '') return `${name}:\r\n`;
  if (isMachineReadable(name) ? isAscii(value) : isPlain(value)) {
    if (name.length + 2 + value.length <= LINE_CHARS_MAX) return `${name}: ${value}\r\n`;
    const folded = foldedAtSpaces(`${name}: ${value}`, name.length + 2);
    if (folded !== undefined) return `${folded}\r\n`;
  }
  const charsLeft = ENCODED_LINE_CHARS_MAX - name.length - 2;
  if (charsLeft < WORD_CHARS_MIN) return `${name}:\r\n ${encodedWords(value, Infinity)}\r\n`;
  return `${name}: ${encodedWords(value, charsLeft)}\r\n`;
}

// Mail clients would decode text that looks like an encoded word and show something else.
function isPlain(text: string): boolean {
  return isAscii(text) && !text.includes('=?');
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7e || (code < 0x20 && code !== 0x09)) return false;
  }
  return true;
}

/**
 * Folds only before single spaces, because clients disagree on how many spaces a fold replaces when
 * there were several. Undefined when a line would still exceed the hard limit.
 */
function foldedAtSpaces(line: string, valueStart: number): string | undefined {
  let folded = '';
  let lineStart = 0;
  let foldAt = -1;
  for (let i = valueStart + 1; i <= line.length; i++) {
    const canFold = i === line.length || isSingleSpace(line, i);
    if (!canFold) continue;
    if (i - lineStart > LINE_CHARS_MAX && foldAt > 0) {
      folded += `${line.slice(lineStart, foldAt)}\r\n`;
      lineStart = foldAt;
    }
    if (i - lineStart > LINE_OCTETS_MAX) return undefined;
    foldAt = i;
  }
  return folded + line.slice(lineStart);
}

function isSingleSpace(line: string, at: number): boolean {
  return line[at] === ' ' && !isBlank(line[at - 1]) && !isBlank(line[at + 1]);
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}

/** Formats an address list. UTF-8 local parts are written raw (RFC 6532), names never are. */
export function formatMailboxHeader(name: string, mailboxes: readonly NamedMailbox[]): string {
  let header = `${name}: `;
  let column = header.length;
  const append = (piece: string): void => {
    header += piece;
    const lineBreak = piece.lastIndexOf('\n');
    column = lineBreak === -1 ? column + piece.length : piece.length - lineBreak - 1;
  };
  for (const [index, mailbox] of mailboxes.entries()) {
    const phrase = phraseOf(mailbox.name);
    const address = phrase === undefined ? bareAddress(mailbox) : `<${mailbox.email}>`;
    if (index > 0) {
      const next = phrase === undefined ? address.length : (phrase.text?.length ?? WORD_CHARS_MIN);
      append(column + 2 + next + 2 > LINE_CHARS_MAX ? ',\r\n ' : ', ');
    }
    if (phrase !== undefined) {
      append(phrase.text ?? encodedWords(phrase.encode, ENCODED_LINE_CHARS_MAX - column));
      append(column + 1 + address.length + 1 > LINE_CHARS_MAX ? '\r\n ' : ' ');
    }
    append(address);
  }
  return `${header}\r\n`;
}

type Phrase = { text: string; encode?: undefined } | { text?: undefined; encode: string };

function phraseOf(name: string | undefined): Phrase | undefined {
  const trimmed = name?.trim();
  if (!trimmed) return undefined;
  const error = headerTextError(trimmed);
  assert(error === undefined, `display name: ${error}`);
  if (trimmed.length > QUOTED_NAME_CHARS_MAX || !isPlain(trimmed)) return { encode: trimmed };
  if (ATOMS.test(trimmed)) return { text: trimmed };
  return { text: `"${trimmed.replace(/["\\]/g, '\\$&')}"` };
}

const ATOMS = /^[\w!#$%&'*+\-/=?^`{|}~]+( [\w!#$%&'*+\-/=?^`{|}~]+)*$/;

function bareAddress(mailbox: NamedMailbox): string {
  return mailbox.local.startsWith('"') ? `<${mailbox.email}>` : mailbox.email;
}
