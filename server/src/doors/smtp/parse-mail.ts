import PostalMime, { type Attachment, type Email } from 'postal-mime';
import { RefusedError } from '../../base/refused-error.ts';

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
  let mail: Email;
  try {
    mail = await parser.parse(data);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw unreadable(`The message cannot be read: ${why}.`);
  }
  const nodes = nodesByContent(parser);
  return {
    mail,
    file(part) {
      const content = Buffer.from(part.content as ArrayBuffer);
      const node = nodes.get(part.content);
      const isBase64 = node?.contentTransferEncoding.encoding === 'base64';
      const charset = node?.contentType.parsed.params.charset;
      return { content: isBase64 ? content : withoutLastBreak(content), charset };
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

/** What the parser keeps of a part, beyond its declared types. */
interface PartNode {
  content: ArrayBuffer | null;
  contentTransferEncoding: { encoding: string };
  contentType: { parsed: { params: Record<string, string> } };
  childNodes: PartNode[];
}

function nodesByContent(parser: PostalMime): Map<unknown, PartNode> {
  const found = new Map<unknown, PartNode>();
  const waiting = [(parser as unknown as { root: PartNode }).root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node.content) found.set(node.content, node);
    waiting.push(...node.childNodes);
  }
  return found;
}

/** The parser ends every line it read; the break before a delimiter is none of the part (RFC 2046 5.1.1). */
function withoutLastBreak(content: Buffer): Buffer {
  return content.at(-1) === 0x0a ? content.subarray(0, -1) : content;
}
