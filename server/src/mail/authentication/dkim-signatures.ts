import { headerText } from '../mime/mail-parser.ts';

/** Finds the DKIM signatures of a mail without verifying anything. */

/** Where the public key of a signature is. */
export interface DkimKeyName {
  domain: string;
  selector: string;
}

/**
 * Each signature costs a pass over the whole body. RFC 6376 section 6.1 allows to limit their number;
 * forwarded mail has two or three.
 */
const SIGNATURES_MAX = 5;

/** What else takes verification quadratic time, and is not in real mail. */
const SIGNATURE_CHARS_MAX = 4096;
const LONG_SPACE = /\s{100}/;
const HEADER_LINES_MAX = 1_000;
/** RFC 5322 section 2.1.1: no mail server sends such a line. */
const LINE_BYTES_MAX = 1024 * 1024;

export function readDkimKeyNames(data: Buffer): DkimKeyName[] {
  return verifiedFields(fieldsOf(data)).flatMap(readKeyName);
}

export function isVerifiable(data: Buffer): boolean {
  return hasUnambiguousHeader(data) && hasUsualLines(data);
}

/**
 * Whether every parser finds the same fields in the header, so that the From that is read is the one that
 * was signed. Parsers disagree about a CR without LF: to some, a line of only that ends the header.
 */
function hasUnambiguousHeader(data: Buffer): boolean {
  const lines = headerText(data).split('\n', HEADER_LINES_MAX + 1);
  return lines.length <= HEADER_LINES_MAX && lines.every((line) => HEADER_LINE.test(line));
}

/** The first line of a field, a continuation, or what follows the last line break. */
const HEADER_LINE = /^(?:[\x21-\x39\x3b-\x7e]+[ \t]*:[^\r]*|[ \t][^\r]*)?\r?$/;

function hasUsualLines(data: Buffer): boolean {
  let start = 0;
  while (data.length - start > LINE_BYTES_MAX) {
    const end = data.lastIndexOf(LF, start + LINE_BYTES_MAX);
    if (end < start) return false;
    start = end + 1;
  }
  return true;
}

/**
 * Without the signatures that are not verified, and those of ARC, which would be too. Removing a field
 * does not affect the other signatures.
 */
export function withFewSignatures(data: Buffer): Buffer {
  const fields = fieldsOf(data);
  const verified = new Set(verifiedFields(fields));
  const pieces: Buffer[] = [];
  let at = 0;
  for (const field of fields) {
    if (verified.has(field)) continue;
    pieces.push(data.subarray(at, field.start));
    at = field.end;
  }
  return at === 0 ? data : Buffer.concat([...pieces, data.subarray(at)]);
}

interface Field {
  isArc: boolean;
  start: number;
  end: number;
  value: string;
}

function verifiedFields(fields: readonly Field[]): Field[] {
  return fields
    .filter(({ isArc, value }) => {
      return !isArc && value.length <= SIGNATURE_CHARS_MAX && !LONG_SPACE.test(value);
    })
    .slice(0, SIGNATURES_MAX);
}

function fieldsOf(data: Buffer): Field[] {
  return [...headerText(data).matchAll(SIGNATURE)].map((match) => ({
    isArc: /^arc/i.test(match[0]),
    start: match.index,
    end: match.index + match[0].length,
    value: match[1] as string,
  }));
}

/** One header field with its continuation lines. */
const SIGNATURE =
  /^(?:dkim-signature|arc-(?:seal|message-signature|authentication-results))[ \t]*:([^\n]*\n(?:[ \t][^\n]*\n)*)/gim;

function readKeyName({ value }: Field): DkimKeyName[] {
  const tags = new Map(
    value.split(';').map((tag) => {
      const [name = '', ...rest] = tag.split('=');
      return [name.trim().toLowerCase(), rest.join('=').replace(/\s/g, '')] as const;
    }),
  );
  const [domain, selector] = [tags.get('d'), tags.get('s')];
  return domain && selector ? [{ domain, selector }] : [];
}

const LF = 0x0a;
