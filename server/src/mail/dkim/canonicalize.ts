import { createHash, hash } from 'node:crypto';

/**
 * The "relaxed" canonicalization of RFC 6376 sections 3.4.2 and 3.4.4. Line breaks are CRLF; a bare
 * CR or LF is an ordinary character. Most bodies are already canonical except for their end, so
 * they are scanned for exceptions and hashed in place; only a block with an exception is rewritten.
 */

const BLOCK_OCTETS = 64 * 1024;
const sharedScratch = Buffer.allocUnsafeSlow(BLOCK_OCTETS);

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;

/** The SHA-256 of the canonical body in base64, the bh= tag of a signature. */
export function relaxedBodyHash(raw: Buffer, bodyStart: number): string {
  const end = contentEnd(raw, bodyStart);
  if (end === bodyStart) return EMPTY_BODY_HASH;
  if (end - bodyStart <= BLOCK_OCTETS && end + 2 <= raw.length && isLineBreak(raw, end)) {
    if (isRelaxed(raw.subarray(bodyStart, end))) {
      return hash('sha256', raw.subarray(bodyStart, end + 2), 'base64');
    }
  }
  const digest = createHash('sha256');
  let start = bodyStart;
  while (start < end) {
    const blockEnd = endOfBlock(raw, start, end);
    const block = raw.subarray(start, blockEnd);
    digest.update(isRelaxed(block) ? block : relaxed(raw, start, blockEnd));
    start = blockEnd;
  }
  return digest.update('\r\n').digest('base64');
}

const EMPTY_BODY_HASH = hash('sha256', '', 'base64');

/** Where the body ends without trailing blanks and empty lines. */
function contentEnd(raw: Buffer, bodyStart: number): number {
  let end = raw.length;
  for (;;) {
    while (end > bodyStart && isBlank(raw[end - 1]!)) end -= 1;
    if (end - 2 < bodyStart || !isLineBreak(raw, end - 2)) return end;
    end -= 2;
  }
}

function isLineBreak(raw: Buffer, at: number): boolean {
  return raw[at] === CR && raw[at + 1] === LF;
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

/**
 * A block never ends in a blank or inside a line break, because canonicalizing a blank depends on
 * what follows it.
 */
function endOfBlock(raw: Buffer, start: number, end: number): number {
  let blockEnd = Math.min(end, start + BLOCK_OCTETS);
  while (blockEnd < end && (isBlank(raw[blockEnd - 1]!) || raw[blockEnd - 1] === CR)) blockEnd += 1;
  return blockEnd;
}

function isRelaxed(block: Buffer): boolean {
  return !block.includes(TWO_SPACES) && !block.includes(TAB) && !block.includes(SPACE_LINE_BREAK);
}

const TWO_SPACES = Buffer.from('  ');
const SPACE_LINE_BREAK = Buffer.from(' \r\n');

/** Replaces every run of blanks with one space, and removes blanks before a line break. */
function relaxed(raw: Buffer, start: number, end: number): Buffer {
  const octets = end - start;
  const scratch = octets <= BLOCK_OCTETS ? sharedScratch : Buffer.allocUnsafe(octets);
  let length = 0;
  let kept = start;
  let i = start;
  while (i < end) {
    if (raw[i]! > SPACE || !isBlank(raw[i]!)) {
      i += 1;
      continue;
    }
    let next = i + 1;
    while (next < end && isBlank(raw[next]!)) next += 1;
    const endsLine = next + 1 < raw.length && isLineBreak(raw, next);
    if (endsLine || next - i > 1 || raw[i] === TAB) {
      length += raw.copy(scratch, length, kept, i);
      if (!endsLine) scratch[length++] = SPACE;
      kept = next;
    }
    i = next;
  }
  length += raw.copy(scratch, length, kept, end);
  return scratch.subarray(0, length);
}

export interface HeaderField {
  /** Lower case. */
  name: string;
  /** `name:value` in canonical form, without a line break. */
  canonical: string;
}

/**
 * The fields of a header block in their order. Decoded as latin1, one character per byte, so that a
 * raw UTF-8 address is signed byte for byte.
 */
export function relaxedHeaderFields(header: string): HeaderField[] {
  const fields: HeaderField[] = [];
  let start = 0;
  while (start < header.length) {
    let end = header.indexOf('\r\n', start);
    if (end === -1) end = header.length;
    while (end < header.length && isFoldedAt(header, end)) {
      end = header.indexOf('\r\n', end + 2);
      if (end === -1) end = header.length;
    }
    const colon = header.indexOf(':', start);
    if (colon !== -1 && colon < end) {
      const name = relaxedText(header.slice(start, colon)).toLowerCase();
      fields.push({ name, canonical: `${name}:${relaxedText(header.slice(colon + 1, end))}` });
    }
    start = end + 2;
  }
  return fields;
}

function isFoldedAt(header: string, lineBreak: number): boolean {
  const next = header.charCodeAt(lineBreak + 2);
  return next === SPACE || next === TAB;
}

function relaxedText(text: string): string {
  const flat = /\r\n|\t| {2}/.test(text)
    ? text.replaceAll('\r\n', '').replace(/[ \t]+/g, ' ')
    : text;
  const from = flat.charCodeAt(0) === SPACE ? 1 : 0;
  const to = flat.charCodeAt(flat.length - 1) === SPACE ? flat.length - 1 : flat.length;
  return flat.slice(from, Math.max(from, to));
}
