import { isAscii, isUtf8 } from 'node:buffer';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { JsonBody } from './json-body.ts';

/**
 * Parses forms: `multipart/form-data` (RFC 7578) and `application/x-www-form-urlencoded`. The result
 * is what JSON could hold, so that a schema validates it like any other body: a field is text, a file
 * is an object with its content in Base64, and a repeated field is a list. The body is already
 * complete and limited in size; parsing takes linear time.
 */

export const FORM_TYPES = ['multipart/form-data', 'application/x-www-form-urlencoded'] as const;

export interface FormFile {
  filename: string;
  content_type: string;
  /** Encoded as Base64. */
  content: string;
}

type FormValue = string | FormFile;

/** A part costs far more than its bytes. */
const PARTS_MAX = 10_000;
const PART_HEADER_BYTES_MAX = 16 * 1024;

export function parseFormBody(body: Buffer, contentType: string): JsonBody {
  const fields = contentType.toLowerCase().startsWith('multipart/')
    ? multipartFields(body, boundaryOf(contentType))
    : urlEncodedFields(body);
  const value = fromFields(fields);
  return { value, textErrors: textErrorsOf(fields) };
}

/** PHP names the entries of a list `attachment[0]` and `attachment[1]`, or `attachment[]`. */
const LIST_ENTRY = /^([\w-]+)\[\d{0,4}\]$/;

function fromFields(fields: readonly [string, FormValue][]): Record<string, unknown> {
  const body: Record<string, FormValue | FormValue[]> = {};
  for (const [field, value] of fields) {
    const name = LIST_ENTRY.exec(field)?.[1] ?? field;
    const before = Object.hasOwn(body, name) ? body[name] : undefined;
    if (before === undefined) setOwn(body, name, value);
    else if (Array.isArray(before)) before.push(value);
    else setOwn(body, name, [before, value]);
  }
  return body;
}

/** Also for the name that would change the prototype, which no schema accepts. */
function setOwn<T>(object: Record<string, T>, name: string, value: T): void {
  if (name === '__proto__') {
    const property = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, name, property);
  } else object[name] = value;
}

/** PostgreSQL cannot store NUL. */
function textErrorsOf(fields: readonly [string, FormValue][]): readonly FieldError[] {
  const hasNul = (value: FormValue): boolean =>
    (typeof value === 'string' ? value : value.filename).includes('\0');
  return fields
    .filter(([name, value]) => name.includes('\0') || hasNul(value))
    .slice(0, 100)
    .map(([name]) => ({
      pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      code: 'invalid_text',
      detail: 'Text must not contain NUL.',
    }));
}

function urlEncodedFields(body: Buffer): [string, string][] {
  const fields = [...new URLSearchParams(body.toString())];
  if (!isUtf8(body) || hasInvalidEscapes(body, fields)) {
    throw malformed('The form is not valid UTF-8.');
  }
  if (fields.length > PARTS_MAX) throw tooManyParts();
  return fields;
}

/** URLSearchParams replaces escaped bytes that are not UTF-8 by U+FFFD. */
function hasInvalidEscapes(body: Buffer, fields: readonly [string, string][]): boolean {
  const isSuspect = fields.some((field) => field.join('').includes('\ufffd'));
  return isSuspect && !isUtf8(unescaped(body));
}

/** A regular expression would take seconds for millions of escapes. */
function unescaped(body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at++) {
    const escaped = body[at] === PERCENT ? escapedByte(body, at) : -1;
    bytes[length] = escaped < 0 ? (body[at] as number) : escaped;
    length += 1;
    if (escaped >= 0) at += 2;
  }
  return bytes.subarray(0, length);
}

const PERCENT = 0x25;

/** The byte that `%XX` stands for; -1 for another text. */
function escapedByte(body: Buffer, at: number): number {
  const high = hexDigit(body[at + 1]);
  const low = hexDigit(body[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function boundaryOf(contentType: string): string {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('The Content-Type has no boundary.');
  return boundary;
}

/** What follows the delimiter before every field that is not a file, as clients write it. */
const FIELD_START = /\r\ncontent-disposition: form-data; name="([^"\\\r\n]*)"\r\n\r\n/iy;

/**
 * The body is searched as text with one character for each byte, which takes a fraction of searching
 * a buffer. Fields are copied from the body, so that none of them keeps all of it in memory.
 */
function multipartFields(body: Buffer, boundary: string): [string, FormValue][] {
  const fields: [string, FormValue][] = [];
  const text = body.toString('latin1');
  const decode = decoderOf(body);
  const delimiter = `\r\n--${boundary}`;
  // The first delimiter needs no line break before it.
  const startsAtOnce = text.startsWith(delimiter.slice(2));
  let at = startsAtOnce ? delimiter.length - 2 : afterDelimiter(text, delimiter, 0);
  while (!text.startsWith('--', at)) {
    const lineEnd = text.indexOf('\r\n', at);
    FIELD_START.lastIndex = lineEnd;
    const fieldName = lineEnd < 0 ? undefined : FIELD_START.exec(text)?.[1];
    const headerEnd =
      fieldName === undefined ? headerEndOf(text, lineEnd) : FIELD_START.lastIndex - 4;
    const next = afterDelimiter(text, delimiter, headerEnd + 2);
    if (fields.length >= PARTS_MAX) throw tooManyParts();
    if (headerEnd - lineEnd > PART_HEADER_BYTES_MAX)
      throw malformed('The header of a part is too long.');
    // An empty part may share its line break with the delimiter.
    const contentEnd = Math.max(next - delimiter.length, headerEnd + 4);
    if (fieldName === undefined) {
      const header = decode(lineEnd, headerEnd, 'The header of a part');
      fields.push(partOf(header, body, decode, headerEnd + 4, contentEnd));
    } else {
      const nameEnd = headerEnd - 1;
      const name = decode(nameEnd - fieldName.length, nameEnd, 'The name of a field');
      fields.push([name, decode(headerEnd + 4, contentEnd, `The field ${name}`)]);
    }
    at = next;
  }
  return fields;
}

function headerEndOf(text: string, lineEnd: number): number {
  const headerEnd = lineEnd < 0 ? -1 : text.indexOf('\r\n\r\n', lineEnd);
  if (headerEnd < 0) throw incomplete();
  return headerEnd;
}

/**
 * Text that only begins like the delimiter belongs to the content. What begins every delimiter is
 * searched first, because V8 builds a table for each search of a long text.
 */
function afterDelimiter(text: string, delimiter: string, from: number): number {
  for (let start = text.indexOf('\r\n--', from); start >= 0; ) {
    const end = start + delimiter.length;
    if (text.startsWith(delimiter, start) && endsDelimiter(text, end)) return end;
    start = text.indexOf('\r\n--', start + 2);
  }
  throw incomplete();
}

function endsDelimiter(text: string, at: number): boolean {
  const next = text[at];
  return next === ' ' || next === '\t' || text.startsWith('\r\n', at) || text.startsWith('--', at);
}

type Decode = (start: number, end: number, what: string) => string;

/** Most bodies are ASCII, of which a part needs no check of its own. */
function decoderOf(body: Buffer): Decode {
  if (isAscii(body)) return (start, end) => body.toString('latin1', start, end);
  return (start, end, what) => {
    if (!isUtf8(body.subarray(start, end))) throw malformed(`${what} is not valid UTF-8.`);
    return body.toString('utf8', start, end);
  };
}

function partOf(
  header: string,
  body: Buffer,
  decode: Decode,
  start: number,
  end: number,
): [string, FormValue] {
  const encoding = headerValue(header, 'content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (!['7bit', '8bit', 'binary'].includes(encoding)) {
    throw malformed(`Parts must not be encoded, as RFC 7578 says, but one is ${encoding}.`);
  }
  const disposition = headerValue(header, 'content-disposition') ?? '';
  const { name, filename } = dispositionParameters(disposition);
  if (name === undefined) throw malformed('A part of the form has no name.');
  if (filename === undefined) return [name, decode(start, end, `The field ${name}`)];
  const type = headerValue(header, 'content-type') ?? 'application/octet-stream';
  return [name, { filename, content_type: type, content: body.toString('base64', start, end) }];
}

function headerValue(header: string, name: string): string | undefined {
  for (const line of header.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0 && line.slice(0, colon).trim().toLowerCase() === name) {
      return line.slice(colon + 1).trim();
    }
  }
  return undefined;
}

function dispositionParameters(text: string): { name?: string; filename?: string } {
  const found: Record<string, string> = {};
  const pattern = /;\s*([a-z*]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))/gi;
  for (const [, key = '', quoted, plain = ''] of text.matchAll(pattern)) {
    // Only these two are escaped; a path of Windows keeps its backslashes.
    found[key.toLowerCase()] ??= quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain;
  }
  const filename = extendedValue(found['filename*']) ?? found.filename;
  return {
    ...(found.name === undefined ? {} : { name: found.name }),
    ...(filename === undefined ? {} : { filename }),
  };
}

/** RFC 8187, as older clients send it. */
function extendedValue(text: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(text ?? '')?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw malformed('The name of a file is not valid UTF-8.');
  }
}

function incomplete(): RefusedError {
  return malformed('The multipart body is incomplete: its closing boundary is missing.');
}

function tooManyParts(): RefusedError {
  return new RefusedError('body_too_large', `A form can have at most ${PARTS_MAX} fields.`);
}

function malformed(detail: string): RefusedError {
  return new RefusedError('malformed_request', detail);
}
