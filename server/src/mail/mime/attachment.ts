import { assert } from '../../lib/assert.ts';
import { isAscii } from '../domain-name.ts';

/**
 * The header of an attached part: its type, its name in every spelling that readers understand
 * (RFC 2231), and whether it is shown inside the html (`cid:`) or beside it.
 */

export interface Attachment {
  filename: string;
  content: Buffer;
  contentType: string;
  /** Without angle brackets. Makes the attachment a part of the html, as `cid:…`. */
  contentId?: string;
}

const FILENAME_OCTETS_MAX = 255;
const CONTENT_TYPE_CHARS_MAX = 255;
const CONTENT_ID_CHARS_MAX = 255;

/** A media type with optional parameters (RFC 2045 5.1), fit to stand in a header as it is. */
export function isContentType(text: string): boolean {
  return text.length <= CONTENT_TYPE_CHARS_MAX && CONTENT_TYPE.test(text);
}

const CONTENT_TYPE =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$&^.+-]+=(?:[\w!#$&^.+:/-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;

export function isContentId(text: string): boolean {
  return text.length <= CONTENT_ID_CHARS_MAX && /^[\x21-\x3b\x3d\x3f-\x7e]+$/.test(text);
}

export function attachmentHeader(attachment: Attachment, inline: boolean): string {
  const { contentId } = attachment;
  const filename = safeFilename(attachment.filename);
  const fallback = asciiFilename(filename);
  const type = safeContentType(attachment.contentType);
  const named = /;[ \t]*name\*?=/i.test(type);
  let header = `Content-Type: ${type}${named ? '' : `;\r\n name="${fallback}"`}\r\n`;
  header += 'Content-Transfer-Encoding: base64\r\n';
  if (contentId !== undefined) {
    assert(isContentId(contentId), 'a content id is printable ASCII without angle brackets');
    header += `Content-ID: <${contentId}>\r\n`;
  }
  // Only one spelling here: with both, many readers take the fallback. Readers that do not know
  // RFC 2231 take the name of the Content-Type.
  const parameter =
    fallback === filename
      ? `filename="${filename}"`
      : `filename*=utf-8''${percentEncoded(filename)}`;
  return `${header}Content-Disposition: ${inline ? 'inline' : 'attachment'};\r\n ${parameter}\r\n`;
}

// RFC 2046 5.1 and 5.2.1 forbid base64 for multipart and message types, and readers that take
// such a part to pieces would show its insides as ours. As a file it arrives byte for byte.
function safeContentType(contentType: string): string {
  const isFile = !isContentType(contentType) || /^(multipart|message)\//i.test(contentType);
  return isFile ? 'application/octet-stream' : contentType;
}

/** No controls, no folders, and short enough for one line even when percent-encoded. */
function safeFilename(given: string): string {
  const name = given
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}/\\]/gu, '_')
    // Readers decode what looks like an encoded word, and would show another name.
    .replaceAll('=?', '=_')
    .trim();
  if (name === '') return 'attachment';
  if (Buffer.byteLength(name) <= FILENAME_OCTETS_MAX) return name;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';
  const stem = Buffer.from(name).subarray(0, FILENAME_OCTETS_MAX - extension.length);
  // The cut may have gone through a character, which then ends in U+FFFD.
  return stem.toString('utf8').replace(/\ufffd+$/, '') + extension;
}

function asciiFilename(filename: string): string {
  if (isAscii(filename) && !filename.includes('"')) return filename;
  return (
    filename
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      // Quotes, backslashes and "=?" may have come out of their full-width forms.
      .replace(/[^\x20-\x7e]+|["\\/]|=\?/g, '_')
  );
}

function percentEncoded(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
