import { assert } from '../../lib/assert.ts';
import { isAscii } from '../domain-name.ts';

/**
 * The header of an attachment: its type, its file name in every form that mail clients understand
 * (RFC 2231), and whether it is displayed inside the HTML (`cid:`).
 */

export interface Attachment {
  filename: string;
  content: Buffer;
  contentType: string;
  /** Without angle brackets. The HTML can refer to the attachment as `cid:…`. */
  contentId?: string;
}

const FILENAME_OCTETS_MAX = 255;
const CONTENT_TYPE_CHARS_MAX = 255;
const CONTENT_ID_CHARS_MAX = 256;

/**
 * Whether the text is a media type with optional parameters (RFC 2045 section 5.1) that can be used
 * in a header unchanged.
 */
export function isContentType(text: string): boolean {
  return text.length <= CONTENT_TYPE_CHARS_MAX && CONTENT_TYPE.test(text);
}

const CONTENT_TYPE =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$&^.+-]+=(?:[\w!#$&^.+:/-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;

/** The characters of a Message-ID (RFC 2045 section 7), with an @ or without. */
export function isContentId(text: string): boolean {
  return text.length <= CONTENT_ID_CHARS_MAX && CONTENT_ID.test(text);
}

const CONTENT_ID = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.@:[\]]+$/;

export function attachmentHeader(attachment: Attachment, inline: boolean): string {
  const { contentId } = attachment;
  const filename = safeFilename(attachment.filename);
  const fallback = asciiFilename(filename);
  const type = safeContentType(attachment.contentType);
  const named = /;[ \t]*name\*?=/i.test(type);
  let header = `Content-Type: ${type}${named ? '' : `;\r\n name="${fallback}"`}\r\n`;
  header += 'Content-Transfer-Encoding: base64\r\n';
  if (contentId !== undefined) {
    assert(isContentId(contentId), 'a Content-ID was checked when the message was accepted');
    header += `Content-ID: <${contentId}>\r\n`;
  }
  // Only one form here: given both, many clients use the fallback. Clients without RFC 2231 support
  // use the name from Content-Type.
  const parameter =
    fallback === filename
      ? `filename="${filename}"`
      : `filename*=utf-8''${percentEncoded(filename)}`;
  return `${header}Content-Disposition: ${inline ? 'inline' : 'attachment'};\r\n ${parameter}\r\n`;
}

/** The value of Content-Disposition in an HTTP response that is saved as a file (RFC 6266). */
export function downloadDisposition(given: string): string {
  const filename = safeFilename(given);
  const fallback = asciiFilename(filename);
  const encoded = fallback === filename ? '' : `; filename*=UTF-8''${percentEncoded(filename)}`;
  return `attachment; filename="${fallback}"${encoded}`;
}

// RFC 2046 sections 5.1 and 5.2.1 forbid base64 for multipart and message types, and clients that
// parse such a part would show its contents as part of our mail. Sent as a file, it arrives byte
// for byte.
function safeContentType(contentType: string): string {
  const isFile = !isContentType(contentType) || /^(multipart|message)\//i.test(contentType);
  return isFile ? 'application/octet-stream' : contentType;
}

/** No control characters or path separators, and short enough for one line when percent-encoded. */
function safeFilename(given: string): string {
  const name = given
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}/\\]/gu, '_')
    // Clients decode anything that looks like an encoded word and would show another name.
    .replaceAll('=?', '=_')
    .trim();
  if (name === '') return 'attachment';
  if (Buffer.byteLength(name) <= FILENAME_OCTETS_MAX) return name;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';
  const stem = Buffer.from(name).subarray(0, FILENAME_OCTETS_MAX - extension.length);
  // A character that was cut in half ends in U+FFFD.
  return stem.toString('utf8').replace(/\ufffd+$/, '') + extension;
}

function asciiFilename(filename: string): string {
  if (isAscii(filename) && !filename.includes('"')) return filename;
  return (
    filename
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      // Normalization may have produced quotes, backslashes and "=?" from their full-width forms.
      .replace(/[^\x20-\x7e]+|["\\/]|=\?/g, '_')
  );
}

function percentEncoded(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
