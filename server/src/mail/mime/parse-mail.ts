import PostalMime, {
  type Address,
  type Attachment,
  addressParser,
  decodeWords,
  type Email,
} from 'postal-mime';
import { RefusedError } from '../../lib/refused-error.ts';
import { withUtf8Headers } from './header-charset.ts';
import {
  needForOriginal,
  type OriginalBody,
  type PartStructure,
  readOriginalBody,
} from './original-body.ts';
import { decodeQuotedPrintable } from './transfer-encoding.ts';

/**
 * Parses untrusted mail: raw bytes (RFC 5322, MIME) in, decoded headers, bodies and attachments out.
 * Everything in the result is plain data, so it can cross a thread boundary. Attachments come back
 * byte for byte as the sender encoded them. Input that would exhaust the parser is rejected up front.
 */
export interface ParsedMail {
  /** The mailboxes of each From header; a well-formed mail has one header. */
  from: ParsedMailbox[][];
  to: ParsedMailbox[];
  cc: ParsedMailbox[];
  bcc: ParsedMailbox[];
  replyTo: ParsedMailbox[];
  subject: string;
  /** Empty when the mail has no HTML part. */
  html: string;
  /** Undefined when the mail has no plain-text part. */
  text: string | undefined;
  /** Every header in its order, with encoded words decoded. */
  headers: ParsedHeader[];
  attachments: ParsedAttachment[];
  /** Set when the body must be sent as it is. */
  original: OriginalBody | undefined;
}

export interface ParsedMailbox {
  address: string;
  name: string;
}

export interface ParsedHeader {
  /** Lower case. */
  key: string;
  /** As spelled in the mail. */
  name: string;
  value: string;
}

export interface ParsedAttachment {
  filename: string | null;
  mimeType: string;
  /** The `method` parameter of a calendar part. */
  method: string | undefined;
  charset: string | undefined;
  /** Without angle brackets. */
  contentId: string | undefined;
  /** Whether the HTML displays this part, either as multipart/related or through `cid:`. */
  isInline: boolean;
  content: Uint8Array;
}

export const HEADER_BYTES_MAX = 256 * 1024;

const LIMITS = {
  maxNestingDepth: 20,
  maxHeadersSize: HEADER_BYTES_MAX,
  // An attached message is treated as a file, not parsed.
  maxRfc822NestingDepth: 0,
  forceRfc822Attachments: true,
} as const;

/** A part or a line costs the parser far more memory and time than its own bytes. */
const DELIMITERS_MAX = 5_000;
const LINES_MAX = 450_000;
const SHORT_LINES_MAX = 50_000;
const LINE_BYTES_USUAL = 32;

export interface ParseOptions {
  /**
   * The mail is to be sent: what must stay as it is comes with the result, and mail that could not be
   * sent unchanged is rejected.
   */
  forSending: boolean;
}

export async function parseMail(
  raw: Buffer,
  { forSending }: ParseOptions = { forSending: true },
): Promise<ParsedMail> {
  const data = withUtf8Headers(raw);
  if (!isAtMost(data, '\n--', DELIMITERS_MAX)) {
    throw malformedMail('The message has too many parts.');
  }
  const linesMax = Math.min(LINES_MAX, SHORT_LINES_MAX + data.length / LINE_BYTES_USUAL);
  if (!isAtMost(data, '\n', linesMax)) throw malformedMail('The message has too many lines.');
  const parser = new PostalMime(LIMITS);
  const bodies = captureBodies(parser);
  let mail: Email;
  try {
    mail = await parser.parse(data);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw malformedMail(`The message cannot be parsed: ${why}.`);
  }
  const original = forSending ? originalOf(parser, data) : undefined;
  const html = storableText(mail.html ?? '');
  return {
    from: mail.headers
      .filter(({ key }) => key === 'from')
      .map(({ value }) => flattenGroups(addressParser(value))),
    to: flattenGroups(mail.to),
    cc: flattenGroups(mail.cc),
    bcc: flattenGroups(mail.bcc),
    replyTo: flattenGroups(mail.replyTo),
    subject: mail.subject ?? '',
    html,
    text: mail.text === undefined ? undefined : storableText(mail.text),
    headers: mail.headers.map(({ key, originalKey, value }) => ({
      key,
      name: originalKey,
      value: decodeWords(value),
    })),
    attachments: mail.attachments.map((part) => toAttachment(part, bodies, html)),
    original,
  };
}

export function malformedMail(detail: string): RefusedError {
  return new RefusedError('malformed_request', detail);
}

/**
 * Mail that is only better kept as it is, but cannot be transported that way, is composed again
 * like any other.
 */
function originalOf(parser: PostalMime, data: Buffer): OriginalBody | undefined {
  const need = needForOriginal(structureOf((parser as unknown as Internals).root));
  if (need === undefined) return undefined;
  const original = readOriginalBody(data);
  if (original.ok) return original.body;
  if (need !== 'sealed') return undefined;
  throw malformedMail(
    `The message is signed or encrypted and cannot be sent unchanged: ${original.reason}.`,
  );
}

function structureOf(node: PartNode): PartStructure {
  const { value, params } = node.contentType.parsed;
  return {
    type: value.toLowerCase(),
    isFlowed: params.format?.toLowerCase() === 'flowed',
    isAttachment: node.contentDisposition.parsed.value.toLowerCase() === 'attachment',
    parts: node.childNodes.map(structureOf),
  };
}

/** Members of a group are listed like any other mailbox; entries without an address are dropped. */
function flattenGroups(addresses: readonly Address[] = []): ParsedMailbox[] {
  return addresses
    .flatMap((entry) => entry.group ?? [entry])
    .flatMap(({ address, name }) => (address ? [{ address, name }] : []));
}

/** Drops the final line break and replaces NUL, which PostgreSQL cannot store. */
function storableText(text: string): string {
  return text.replace(/\n$/, '').replaceAll('\0', '\ufffd').toWellFormed();
}

function toAttachment(
  part: Attachment,
  bodies: ReadonlyMap<Attachment, Body>,
  html: string,
): ParsedAttachment {
  const body = bodies.get(part);
  if (!body) throw new Error('the MIME parser returned an attachment whose body was not captured');
  const contentId = part.contentId?.replace(/^\s*<|>\s*$/g, '');
  // Some mailers give every file a Content-ID, so the ID alone does not make a part inline.
  const isReferenced = contentId !== undefined && html.includes(`cid:${contentId}`);
  return {
    filename: part.filename,
    mimeType: part.mimeType,
    method: part.method,
    charset: body.charset,
    contentId,
    isInline: contentId !== undefined && (part.related === true || isReferenced),
    content: body.content(),
  };
}

/** Whether the marker occurs at most `max` times. */
export function isAtMost(data: Buffer, marker: string, max: number): boolean {
  if (data.length <= max * marker.length) return true;
  let found = 0;
  for (
    let at = data.indexOf(marker);
    at !== -1 && found <= max;
    at = data.indexOf(marker, at + 1)
  ) {
    found += 1;
  }
  return found <= max;
}

/** Internals of postal-mime that its type declarations do not include. */
interface Internals {
  /** The whole mail; lines are views into this memory. */
  av: Uint8Array;
  root: PartNode;
  currentNode: PartNode;
  attachments: Attachment[];
  processLine(line: Uint8Array, isFinal: boolean): Promise<void>;
  collectAttachment(node: PartNode, decoded: ArrayBuffer, ...more: unknown[]): void;
}

interface PartNode {
  contentTransferEncoding: { encoding: string };
  contentType: { parsed: { value: string; params: Record<string, string> } };
  contentDisposition: { parsed: { value: string } };
  childNodes: PartNode[];
  contentDecoder: { update(line: Uint8Array): void } | null;
  setupContentDecoder(encoding: string): void;
}

interface Body {
  content(): Buffer;
  charset: string | undefined;
}

/**
 * postal-mime normalizes line endings to LF and rewrites calendars, which corrupts files. So the byte
 * range of each part is recorded while it parses, and attachments are decoded from the original bytes.
 */
function captureBodies(parser: PostalMime): ReadonlyMap<Attachment, Body> {
  const inner = parser as unknown as Internals;
  const spans = new Map<PartNode, Span>();
  const bodies = new Map<Attachment, Body>();
  const { processLine, collectAttachment } = inner;
  inner.processLine = (line, isFinal) => {
    const { currentNode } = inner;
    if (!spans.has(currentNode)) spans.set(currentNode, recordSpan(currentNode));
    return processLine.call(parser, line, isFinal);
  };
  inner.collectAttachment = (node, decoded, ...more) => {
    collectAttachment.call(parser, node, decoded, ...more);
    const part = inner.attachments.at(-1);
    if (!part) return;
    const charset = node.contentType.parsed.params.charset;
    const content = () => decodeContent(node, decoded, inner.av, spans.get(node));
    bodies.set(part, { content, charset });
  };
  return bodies;
}

/** The byte range of a part's body, without the line break that ends it. */
interface Span {
  start: number;
  end: number;
}

function recordSpan(node: PartNode): Span {
  const span: Span = { start: -1, end: -1 };
  const { setupContentDecoder } = node;
  node.setupContentDecoder = (encoding) => {
    setupContentDecoder.call(node, encoding);
    const decoder = node.contentDecoder;
    if (!decoder) return;
    const { update } = decoder;
    decoder.update = (line) => {
      if (span.start === -1) span.start = line.byteOffset;
      span.end = line.byteOffset + line.length;
      update.call(decoder, line);
    };
  };
  return span;
}

function decodeContent(
  node: PartNode,
  decoded: ArrayBuffer,
  mail: Uint8Array,
  span?: Span,
): Buffer {
  const { encoding } = node.contentTransferEncoding;
  if (/base64/.test(encoding)) return Buffer.from(decoded);
  if (!span || span.start === -1) return Buffer.alloc(0);
  const raw = Buffer.from(mail.buffer as ArrayBuffer, span.start, bodyEnd(mail, span) - span.start);
  return /quoted-printable/.test(encoding) ? decodeQuotedPrintable(raw) : Buffer.from(raw);
}

/** postal-mime strips every trailing CR of a line, but only the CR of a CRLF belongs to the line break. */
function bodyEnd(mail: Uint8Array, { end }: Span): number {
  let at = end;
  while (mail[at] === CR) at += 1;
  return mail[at] === LF && at > end ? at - 1 : at;
}

const CR = 0x0d;
const LF = 0x0a;
