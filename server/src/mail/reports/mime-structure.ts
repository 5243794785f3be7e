/**
 * A minimal, tolerant MIME parser for bounces and complaints from arbitrary servers: the header,
 * and the leaf parts in order. It never throws, runs in linear time, and skips whatever is
 * malformed or truncated. An embedded message is a leaf, so that quoted content is never mistaken
 * for the sender's own.
 */
export interface MailStructure {
  header: HeaderFields;
  type: ContentType;
  /** At least one: a mail that is not multipart is its own part. */
  parts: MailPart[];
}

export interface MailPart {
  header: HeaderFields;
  type: ContentType;
  /** Decoded, one character per byte. */
  body: string;
}

export interface ContentType {
  /** Lower case, such as `multipart/report`. */
  name: string;
  parameters: ReadonlyMap<string, string>;
}

const DEPTH_MAX = 8;
const PARTS_MAX = 100;
const HEADER_CHARS_MAX = 64 * 1024;
const FIELDS_MAX = 500;

export function parseMailStructure(data: Buffer): MailStructure {
  const { header, body } = splitHeader(data.toString('latin1'));
  const type = contentType(header);
  const parts: MailPart[] = [];
  collect(header, type, body, 0, parts);
  return { header, type, parts };
}

/** Header fields by lower-case name; a repeated field has all its values in order. */
export class HeaderFields {
  readonly #fields = new Map<string, string[]>();

  constructor(text: string) {
    let name = '';
    let pieces: string[] = [];
    const keep = (): void => {
      if (name === '') return;
      const values = this.#fields.get(name);
      const value = pieces.join(' ').trim();
      if (values) values.push(value);
      else this.#fields.set(name, [value]);
    };
    for (const line of text.slice(0, HEADER_CHARS_MAX).split('\n', FIELDS_MAX)) {
      const clean = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (clean.startsWith(' ') || clean.startsWith('\t')) {
        pieces.push(clean.trim());
        continue;
      }
      keep();
      const colon = clean.indexOf(':');
      name = colon > 0 ? clean.slice(0, colon).trim().toLowerCase() : '';
      pieces = [clean.slice(colon + 1).trim()];
    }
    keep();
  }

  /** The first value of the field. */
  get(name: string): string | undefined {
    return this.#fields.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.#fields.get(name) ?? [];
  }

  get size(): number {
    return this.#fields.size;
  }
}

/** The header of an embedded message. */
export function embeddedHeaderText(body: string): string {
  return body.slice(0, headerEnd(body)).slice(0, HEADER_CHARS_MAX);
}

/**
 * Text for display: decoded as UTF-8, on one line, without control characters, and never cut inside
 * a surrogate pair, which PostgreSQL would reject in JSON.
 */
export function displayText(text: string, charsMax = Number.POSITIVE_INFINITY): string {
  const shown = Buffer.from(text, 'latin1')
    .toString('utf8')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return shown.length > charsMax ? shown.slice(0, charsMax).toWellFormed() : shown;
}

function collect(
  header: HeaderFields,
  type: ContentType,
  body: string,
  depth: number,
  parts: MailPart[],
): void {
  const boundary = type.parameters.get('boundary') ?? '';
  if (!type.name.startsWith('multipart/') || boundary === '' || depth >= DEPTH_MAX) {
    parts.push({ header, type, body: decodeBody(body, header) });
    return;
  }
  const pieces = splitParts(body, boundary);
  // Boundaries were lost on the way: what is left can still be read as text.
  if (pieces.length === 0 && depth === 0) parts.push({ header, type: PLAIN_TEXT, body });
  for (const piece of pieces) {
    if (parts.length >= PARTS_MAX) return;
    const inner = splitHeader(piece);
    collect(inner.header, contentType(inner.header), inner.body, depth + 1, parts);
  }
}

const PLAIN_TEXT: ContentType = { name: 'text/plain', parameters: new Map() };

function splitHeader(text: string): { header: HeaderFields; body: string } {
  const end = headerEnd(text);
  const gap = text.startsWith('\r\n', end) ? 2 : 1;
  return { header: new HeaderFields(text.slice(0, end)), body: text.slice(end + gap) };
}

/** The position of the empty line after the header; the end of the text if there is none. */
function headerEnd(text: string): number {
  if (text.startsWith('\n') || text.startsWith('\r\n')) return 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (text[at + 1] === '\n' || (text[at + 1] === '\r' && text[at + 2] === '\n')) return at + 1;
  }
  return text.length;
}

const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]*)/g;
const TYPE_CHARS_MAX = 4096;

function contentType(header: HeaderFields): ContentType {
  const value = (header.get('content-type') ?? 'text/plain').slice(0, TYPE_CHARS_MAX);
  const parameters = new Map<string, string>();
  for (const [, name = '', given = ''] of value.matchAll(PARAMETER)) {
    const text = given.startsWith('"') ? given.slice(1, -1).replaceAll(/\\(.)/g, '$1') : given;
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), text);
  }
  const [name = ''] = value.split(';', 1);
  return { name: name.trim().toLowerCase(), parameters };
}

/**
 * RFC 2046 section 5.1.1. The closing delimiter may be missing: the mail may be truncated, and some
 * servers never write it.
 */
function splitParts(body: string, boundary: string): string[] {
  const delimiter = `--${boundary}`;
  const pieces: string[] = [];
  let begin = -1;
  let at = body.startsWith(delimiter) ? 0 : nextDelimiter(body, delimiter, 0);
  while (at !== -1 && pieces.length < PARTS_MAX) {
    if (begin !== -1) pieces.push(body.slice(begin, at));
    const after = at + delimiter.length;
    if (body.startsWith('--', after)) return pieces;
    const lineEnd = body.indexOf('\n', after);
    if (lineEnd === -1) return pieces;
    begin = lineEnd + 1;
    at = nextDelimiter(body, delimiter, lineEnd);
  }
  if (begin !== -1 && at === -1) pieces.push(body.slice(begin));
  return pieces;
}

/** A delimiter is a whole line: a longer boundary with the same beginning is a different one. */
function nextDelimiter(body: string, delimiter: string, from: number): number {
  const marker = `\n${delimiter}`;
  for (let at = body.indexOf(marker, from); at !== -1; at = body.indexOf(marker, at + 1)) {
    const next = body.charAt(at + marker.length);
    const isEnd = body.startsWith('--', at + marker.length);
    if (isEnd || next === '' || /\s/.test(next)) return at + 1;
  }
  return -1;
}

function decodeBody(body: string, header: HeaderFields): string {
  switch (header.get('content-transfer-encoding')?.toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64').toString('latin1');
    case 'quoted-printable':
      return body
        .replaceAll(/=[ \t]{0,4}\r?\n/g, '')
        .replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        );
    default:
      return body;
  }
}
