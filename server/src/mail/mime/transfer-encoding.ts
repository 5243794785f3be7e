import type { GrowableBuffer } from './growable-buffer.ts';

/**
 * Content transfer encodings (RFC 2045 section 6). Takes the bytes of a text or attachment; writes
 * lines of at most 78 characters, terminated by CRLF, that no relay has a reason to change, since a
 * changed line breaks the DKIM signature. All line breaks of a text become CRLF. The encoders
 * process every part of every message, so they make a single pass over the bytes.
 */

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const EQUALS = 0x3d;
const DOT = 0x2e;
const LETTER_F = 0x46;

const SEVEN_BIT_LINE_MAX = 78;
/** RFC 2045 section 6.7 (5) allows 76, including the "=" of a soft line break. */
const QUOTED_LINE_MAX = 75;

/**
 * Writes a text unchanged if it is valid 7bit. Otherwise returns false and leaves the buffer
 * unchanged.
 */
export function writeSevenBit(text: Buffer, buffer: GrowableBuffer): boolean {
  buffer.reserve(text.length * 2);
  const out = buffer.bytes;
  const length = text.length;
  let at = buffer.length;
  let column = 0;
  let i = 0;
  while (i < length) {
    if (column === 0 && needsEscapeAtLineStart(text[i]!, text, i)) return false;
    const run = copyRun(text, i, out, at, PRINTABLE, SEVEN_BIT_LINE_MAX - column);
    at += run;
    column += run;
    i += run;
    if (i >= length) break;
    const byte = text[i]!;
    if (byte === LF || byte === CR) {
      if (column > 0 && isBlank(out[at - 1]!)) return false;
      out[at++] = CR;
      out[at++] = LF;
      column = 0;
      i += lineBreakLength(text, i);
    } else {
      return false;
    }
  }
  if (column > 0 && isBlank(out[at - 1]!)) return false;
  buffer.length = at;
  return true;
}

export function writeQuotedPrintable(text: Buffer, buffer: GrowableBuffer): void {
  // Three characters per octet, and three more (a soft line break) for every 25 of them.
  buffer.reserve(text.length * 4 + 8);
  const out = buffer.bytes;
  const length = text.length;
  let at = buffer.length;
  let column = 0;
  let i = 0;
  while (i < length) {
    if (column > 0) {
      const run = copyRun(text, i, out, at, QUOTED_LITERAL, QUOTED_LINE_MAX - column);
      at += run;
      column += run;
      i += run;
      if (i >= length) break;
    }
    const byte = text[i]!;
    if (byte === LF || byte === CR) {
      if (column > 0) at = escapeTrailingBlank(out, at, column);
      out[at++] = CR;
      out[at++] = LF;
      column = 0;
      i += lineBreakLength(text, i);
    } else if (column + 3 > QUOTED_LINE_MAX) {
      out[at++] = EQUALS;
      out[at++] = CR;
      out[at++] = LF;
      column = 0;
    } else if (QUOTED_LITERAL[byte] === 1 && !needsEscapeAtLineStart(byte, text, i)) {
      out[at++] = byte;
      column += 1;
      i += 1;
    } else {
      at = writeHex(out, at, byte);
      column += 3;
      i += 1;
    }
  }
  if (column > 0) at = escapeTrailingBlank(out, at, column);
  buffer.length = at;
}

/** Copies characters that need no encoding, up to the end of the line. This is the hot loop. */
function copyRun(
  text: Buffer,
  from: number,
  out: Buffer,
  to: number,
  plain: Uint8Array,
  charsLeft: number,
): number {
  const end = Math.min(text.length, from + charsLeft);
  let i = from;
  let at = to;
  while (i < end) {
    const byte = text[i]!;
    if (plain[byte] !== 1) break;
    out[at++] = byte;
    i += 1;
  }
  return i - from;
}

/** Base64 in lines of 76 characters. */
export function writeBase64(content: Buffer, buffer: GrowableBuffer): void {
  for (let start = 0; start < content.length; start += BASE64_BLOCK_OCTETS) {
    const end = Math.min(content.length, start + BASE64_BLOCK_OCTETS);
    writeBase64Block(content.toString('base64', start, end), buffer);
  }
}

/** Whole lines, and few enough that the intermediate string stays small. */
const BASE64_BLOCK_OCTETS = 57 * 4096;
const BASE64_LINE_CHARS = 76;

/** Writes the characters at the end of the reserved space, then moves them down line by line. */
function writeBase64Block(characters: string, buffer: GrowableBuffer): void {
  const lines = Math.ceil(characters.length / BASE64_LINE_CHARS);
  buffer.reserve(characters.length + lines * 2);
  const out = buffer.bytes;
  let to = buffer.length;
  let from = to + lines * 2;
  const end = from + characters.length;
  out.write(characters, from, 'latin1');
  while (from < end) {
    const next = Math.min(end, from + BASE64_LINE_CHARS);
    out.copyWithin(to, from, next);
    to += next - from;
    out[to++] = CR;
    out[to++] = LF;
    from = next;
  }
  buffer.length = to;
}

/** Text with every line break as CRLF, for base64. */
export function withCanonicalLineBreaks(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n');
}

function lineBreakLength(text: Buffer, i: number): number {
  return text[i] === CR && i + 1 < text.length && text[i + 1] === LF ? 2 : 1;
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

// Mailbox files turn a leading "From " into ">From ", and broken relays drop a leading dot.
function needsEscapeAtLineStart(byte: number, text: Buffer, i: number): boolean {
  return (
    byte === DOT ||
    (byte === LETTER_F &&
      i + 4 < text.length &&
      text[i + 1] === 0x72 &&
      text[i + 2] === 0x6f &&
      text[i + 3] === 0x6d &&
      text[i + 4] === SPACE)
  );
}

/** RFC 2045 section 6.7 (3): a trailing blank must be encoded, or a relay may drop it. */
function escapeTrailingBlank(out: Buffer, at: number, column: number): number {
  const last = out[at - 1]!;
  if (!isBlank(last)) return at;
  let start = at - 1;
  if (column + 2 > QUOTED_LINE_MAX) {
    out[start++] = EQUALS;
    out[start++] = CR;
    out[start++] = LF;
  }
  return writeHex(out, start, last);
}

function writeHex(out: Buffer, at: number, byte: number): number {
  out[at] = EQUALS;
  out[at + 1] = HEX[byte >> 4]!;
  out[at + 2] = HEX[byte & 15]!;
  return at + 3;
}

const HEX = Buffer.from('0123456789ABCDEF', 'latin1');
const PRINTABLE = new Uint8Array(256).fill(1, SPACE, 0x7f);
PRINTABLE[TAB] = 1;
const QUOTED_LITERAL = PRINTABLE.slice();
QUOTED_LITERAL[EQUALS] = 0;

/**
 * Decodes a quoted-printable body (RFC 2045 section 6.7). Its own line breaks are kept, and invalid
 * escapes are kept as text.
 */
export function decodeQuotedPrintable(encoded: Buffer): Buffer {
  const decoded = Buffer.alloc(encoded.length);
  let length = 0;
  let from = 0;
  for (let at = encoded.indexOf(EQUALS); at !== -1; at = encoded.indexOf(EQUALS, from)) {
    length += encoded.copy(decoded, length, from, at);
    from = softBreakEnd(encoded, at);
    if (from !== -1) continue;
    const value = hexValue(encoded[at + 1]) * 16 + hexValue(encoded[at + 2]);
    decoded[length] = value >= 0 ? value : EQUALS;
    length += 1;
    from = at + (value >= 0 ? 3 : 1);
  }
  length += encoded.copy(decoded, length, from);
  return decoded.subarray(0, length);
}

/**
 * The position after a soft line break, including blanks that relays may add; -1 if there is none.
 */
function softBreakEnd(encoded: Buffer, at: number): number {
  let next = at + 1;
  while (encoded[next] === SPACE || encoded[next] === TAB) next += 1;
  if (next >= encoded.length) return encoded.length;
  if (encoded[next] === LF) return next + 1;
  return encoded[next] === CR && encoded[next + 1] === LF ? next + 2 : -1;
}

/**
 * Far below zero for a character that is not a hexadecimal digit, so that the value of both digits
 * is negative too.
 */
function hexValue(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte & ~0x20;
  return letter >= 0x41 && letter <= LETTER_F ? letter - 0x37 : -1_000;
}
