import { isUtf8 } from 'node:buffer';
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

function fromFields(fields: readonly [string, FormValue][]): Record<string, unknown> {
  const body: Record<string, FormValue | FormValue[]> = {};
  for (const [name, value] of fields) {
    const before = Object.hasOwn(body, name) ? body[name] : undefined;
    if (Array.isArray(before)) before.push(value);
    else setOwn(body, name, before === undefined ? value : [before, value]);
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
  if (!isUtf8(body)) throw malformed('The form is not valid UTF-8.');
  const fields = [...new URLSearchParams(body.toString())];
  if (fields.length > PARTS_MAX) throw tooManyParts();
  return fields;
}

function boundaryOf(contentType: string): string {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('The Content-Type has no boundary.');
  return boundary;
}

const CRLF = Buffer.from('\r\n');
const [TAB, LF, CR, SPACE, DASH] = [0x09, 0x0a, 0x0d, 0x20, 0x2d] as const;

function isPair(body: Buffer, at: number, first: number, second: number): boolean {
  return body[at] === first && body[at + 1] === second;
}

function multipartFields(body: Buffer, boundary: string): [string, FormValue][] {
  const fields: [string, FormValue][] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter needs no line break before it.
  const startsAtOnce = body.indexOf(delimiter.subarray(2)) === 0;
  let at = startsAtOnce ? delimiter.length - 2 : afterDelimiter(body, delimiter, 0);
  for (;;) {
    if (isPair(body, at, DASH, DASH)) return fields;
    const lineEnd = body.indexOf(CRLF, at);
    const headerEnd = lineEnd < 0 ? -1 : body.indexOf('\r\n\r\n', lineEnd);
    if (headerEnd < 0) throw incomplete();
    const next = afterDelimiter(body, delimiter, headerEnd + 2);
    if (fields.length >= PARTS_MAX) throw tooManyParts();
    const header = body.subarray(lineEnd, headerEnd);
    // An empty part may share its line break with the delimiter.
    const contentEnd = Math.max(next - delimiter.length, headerEnd + 4);
    fields.push(fieldOf(header, body.subarray(headerEnd + 4, contentEnd)));
    at = next;
  }
}

/** Text that only begins like the delimiter belongs to the content. */
function afterDelimiter(body: Buffer, delimiter: Buffer, from: number): number {
  for (let start = body.indexOf(delimiter, from); start >= 0; ) {
    const end = start + delimiter.length;
    const next = body[end];
    const isComplete = next === SPACE || next === TAB;
    if (isComplete || isPair(body, end, CR, LF) || isPair(body, end, DASH, DASH)) return end;
    start = body.indexOf(delimiter, end);
  }
  throw incomplete();
}

/** The header that clients write for every field that is not a file. */
const FIELD_HEADER = /^\r\ncontent-disposition: form-data; name="([^"\\\r\n]*)"$/i;

function fieldOf(headerBytes: Buffer, content: Buffer): [string, FormValue] {
  if (headerBytes.length > PART_HEADER_BYTES_MAX || !isUtf8(headerBytes)) {
    throw malformed('The header of a part is too long or not valid UTF-8.');
  }
  const header = headerBytes.toString();
  const fieldName = FIELD_HEADER.exec(header)?.[1];
  if (fieldName !== undefined) return [fieldName, textOf(fieldName, content)];
  const encoding = headerValue(header, 'content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (!['7bit', '8bit', 'binary'].includes(encoding)) {
    throw malformed(`Parts must not be encoded, as RFC 7578 says, but one is ${encoding}.`);
  }
  const disposition = headerValue(header, 'content-disposition') ?? '';
  const { name, filename } = dispositionParameters(disposition);
  if (name === undefined) throw malformed('A part of the form has no name.');
  if (filename === undefined) return [name, textOf(name, content)];
  const type = headerValue(header, 'content-type') ?? 'application/octet-stream';
  return [name, { filename, content_type: type, content: content.toString('base64') }];
}

function textOf(name: string, content: Buffer): string {
  if (!isUtf8(content)) throw malformed(`The field ${name} is not valid UTF-8.`);
  return content.toString();
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
