import PostalMime, { type Attachment, type Email } from 'postal-mime';
import { RefusedError } from '../../lib/refused-error.ts';
import { decodeQuotedPrintable } from './transfer-encoding.ts';

/**
 * The parser of mail, and what it needs around it: bounds for hostile mail, and what it knows of
 * its parts but does not tell.
 */
export interface ParsedMail {
  mail: Email;
  /** The file as it was before it was encoded for the mail, and the charset of its text. */
  file(part: Attachment): { content: Buffer; charset: string | undefined };
}

const LIMITS = {
  maxNestingDepth: 20,
  maxHeadersSize: 256 * 1024,
  // A mail inside the mail is a file like any other.
  maxRfc822NestingDepth: 0,
  forceRfc822Attachments: true,
} as const;

/** A part costs the parser much more than the bytes it is made of, and so does a line. */
const DELIMITERS_MAX = 5_000;
const LINES_MAX = 450_000;
const SHORT_LINES_MAX = 50_000;
const LINE_BYTES_USUAL = 32;

export async function parseMail(data: Buffer): Promise<ParsedMail> {
  if (isMoreThan(data, '\n--', DELIMITERS_MAX)) throw unreadable('The message has too many parts.');
  const linesMax = Math.min(LINES_MAX, SHORT_LINES_MAX + data.length / LINE_BYTES_USUAL);
  if (isMoreThan(data, '\n', linesMax)) throw unreadable('The message has too many lines.');
  const parser = new PostalMime(LIMITS);
  const bodies = keepBodies(parser);
  let mail: Email;
  try {
    mail = await parser.parse(data);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw unreadable(`The message cannot be read: ${why}.`);
  }
  return {
    mail,
    file(part) {
      const body = bodies.get(part);
      if (!body) throw new Error('the parser found a file without telling where it stands');
      return { content: body.content(), charset: body.charset };
    },
  };
}

export function unreadable(detail: string): RefusedError {
  return new RefusedError('malformed_request', detail);
}

function isMoreThan(data: Buffer, mark: string, max: number): boolean {
  // So many marks do not fit into so few bytes.
  if (data.length <= max * mark.length) return false;
  let found = 0;
  for (let at = data.indexOf(mark); at !== -1 && found <= max; at = data.indexOf(mark, at + 1)) {
    found += 1;
  }
  return found > max;
}

/** What the parser has beyond its declared types. */
interface Internals {
  /** The whole mail; lines are views of its memory. */
  av: Uint8Array;
  currentNode: PartNode;
  attachments: Attachment[];
  processLine(line: Uint8Array, isFinal: boolean): Promise<void>;
  collectAttachment(node: PartNode, decoded: ArrayBuffer, ...more: unknown[]): void;
}

interface PartNode {
  contentTransferEncoding: { encoding: string };
  contentType: { parsed: { params: Record<string, string> } };
  contentDecoder: { update(line: Uint8Array): void } | null;
  setupContentDecoder(encoding: string): void;
}

interface Body {
  content(): Buffer;
  charset: string | undefined;
}

/**
 * The parser ends every line with LF and makes calendars over, which is right for text that it
 * shows and wrong for a file. So we look where the lines of each part stand, and take its bytes from
 * there.
 */
function keepBodies(parser: PostalMime): ReadonlyMap<Attachment, Body> {
  const inner = parser as unknown as Internals;
  const spans = new Map<PartNode, Span>();
  const bodies = new Map<Attachment, Body>();
  const { processLine, collectAttachment } = inner;
  inner.processLine = (line, isFinal) => {
    const { currentNode } = inner;
    if (!spans.has(currentNode)) spans.set(currentNode, watchedSpan(currentNode));
    return processLine.call(parser, line, isFinal);
  };
  inner.collectAttachment = (node, decoded, ...more) => {
    collectAttachment.call(parser, node, decoded, ...more);
    const part = inner.attachments.at(-1);
    if (!part) return;
    const charset = node.contentType.parsed.params.charset;
    const content = () => contentOf(node, decoded, inner.av, spans.get(node));
    bodies.set(part, { content, charset });
  };
  return bodies;
}

/** From the first byte of a part's first line to the last of its last, without that one's break. */
interface Span {
  start: number;
  end: number;
}

function watchedSpan(node: PartNode): Span {
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

function contentOf(node: PartNode, decoded: ArrayBuffer, mail: Uint8Array, span?: Span): Buffer {
  const { encoding } = node.contentTransferEncoding;
  if (/base64/.test(encoding)) return Buffer.from(decoded);
  if (!span || span.start === -1) return Buffer.alloc(0);
  const raw = Buffer.from(mail.buffer as ArrayBuffer, span.start, endOf(mail, span) - span.start);
  return /quoted-printable/.test(encoding) ? decodeQuotedPrintable(raw) : Buffer.from(raw);
}

/** The parser takes every CR off the end of a line; only the one of CRLF is a part of the break. */
function endOf(mail: Uint8Array, { end }: Span): number {
  let at = end;
  while (mail[at] === CR) at += 1;
  return mail[at] === LF && at > end ? at - 1 : at;
}

const CR = 0x0d;
const LF = 0x0a;
