import { hash } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import type { NamedMailbox } from '../address.ts';
import { type Attachment, attachmentHeader } from './attachment.ts';
import { GrowableBuffer } from './growable-buffer.ts';
import {
  formatMailboxHeader,
  formatTextHeader,
  isHeaderName,
  isMessageId,
  isStructuralHeader,
} from './header.ts';
import {
  withCanonicalLineBreaks,
  writeBase64,
  writeQuotedPrintable,
  writeSevenBit,
} from './transfer-encoding.ts';

/**
 * Serializes a message (RFC 5322, RFC 2045 to 2047). Takes checked addresses, texts and
 * attachments; returns the mail with CRLF line endings and no line longer than 998 octets. The same
 * input always produces the same bytes, so that a retry sends the same message and an existing DKIM
 * signature stays valid. Bcc recipients are not part of the input, so they cannot leak.
 */

export interface OutgoingMail {
  /** `local@domain`, without angle brackets. */
  messageId: string;
  dateMs: number;
  from: NamedMailbox;
  to: NamedMailbox[];
  cc: NamedMailbox[];
  replyTo: NamedMailbox[];
  subject: string;
  /** Either may be empty. */
  html: string;
  text: string;
  /** Custom headers, in this order. */
  headers: ReadonlyArray<readonly [string, string]>;
  attachments: readonly Attachment[];
  /** A body that is written as it is, instead of html, text and attachments. */
  original?: { header: string; body: Buffer } | undefined;
}

const BUFFER_OCTETS_KEPT = 256 * 1024;
let sharedBuffer = new GrowableBuffer(64 * 1024);

export function compose(message: OutgoingMail): Buffer {
  // Composing is synchronous, so one buffer serves all messages.
  const buffer = sharedBuffer;
  buffer.length = 0;
  buffer.writeText(formatHeaders(message));
  if (message.original) writeOriginal(message.original, buffer);
  else writeEntity(message, buffer);
  if (!buffer.endsWithLineBreak()) buffer.writeText('\r\n');
  if (buffer.bytes.length <= BUFFER_OCTETS_KEPT) return buffer.copyOut();
  sharedBuffer = new GrowableBuffer(64 * 1024);
  return buffer.bytes.subarray(0, buffer.length);
}

/** Whether a header contains a UTF-8 address, which requires SMTPUTF8. */
export function needsSmtpUtf8(message: OutgoingMail): boolean {
  const isUtf8 = (mailbox: NamedMailbox): boolean => mailbox.utf8;
  return (
    message.from.utf8 ||
    message.to.some(isUtf8) ||
    message.cc.some(isUtf8) ||
    message.replyTo.some(isUtf8)
  );
}

function formatHeaders(message: OutgoingMail): string {
  assert(isMessageId(message.messageId), 'a message id is local@domain in printable ASCII');
  let header = formatMailboxHeader('From', [message.from]);
  if (message.to.length > 0) header += formatMailboxHeader('To', message.to);
  if (message.cc.length > 0) header += formatMailboxHeader('Cc', message.cc);
  if (message.replyTo.length > 0) header += formatMailboxHeader('Reply-To', message.replyTo);
  header += formatTextHeader('Subject', message.subject);
  header += `Message-ID: <${message.messageId}>\r\nDate: ${formatDate(message.dateMs)}\r\n`;
  for (const [name, value] of message.headers) {
    assert(isHeaderName(name) && !isStructuralHeader(name), `${name} is a valid custom header`);
    header += formatTextHeader(name, value);
  }
  return `${header}MIME-Version: 1.0\r\n`;
}

/** Messages of the same second have the same date, which takes longer to format than a header field. */
let lastDate = { second: Number.NaN, text: '' };

export function formatDate(dateMs: number): string {
  const second = Math.floor(dateMs / 1000);
  if (second !== lastDate.second) {
    lastDate = { second, text: new Date(dateMs).toUTCString().replace('GMT', '+0000') };
  }
  return lastDate.text;
}

function writeOriginal(
  { header, body }: NonNullable<OutgoingMail['original']>,
  buffer: GrowableBuffer,
): void {
  buffer.writeText(`${header}\r\n`);
  buffer.writeBytes(body);
}

type WritePart = () => void;

/** Nests only as deep as needed: mixed (files) around alternative (text, HTML) around related. */
function writeEntity(message: OutgoingMail, buffer: GrowableBuffer): void {
  const { html, text, attachments } = message;
  const seed = hash('sha256', message.messageId, 'hex').slice(0, 32);
  const isInline = (part: Attachment): boolean => part.contentId !== undefined && html !== '';

  const writeHtml: WritePart = () => writeTextPart('html', html, seed, buffer);
  const writeText: WritePart = () => writeTextPart('plain', text, seed, buffer);
  const writeFile = (part: Attachment): WritePart => {
    return () => writeAttachment(part, isInline(part), buffer);
  };
  const inline = attachments.filter(isInline).map(writeFile);
  const writeRelated: WritePart = () =>
    writeMultipart('related; type="text/html"', `=_r_${seed}`, [writeHtml, ...inline], buffer);
  const writeRich = inline.length > 0 ? writeRelated : writeHtml;
  const writeAlternative: WritePart = () =>
    writeMultipart('alternative', `=_a_${seed}`, [writeText, writeRich], buffer);

  let writeBody = writeAlternative;
  if (text === '' && html !== '') writeBody = writeRich;
  if (html === '') writeBody = writeText;
  const files = attachments.filter((part) => !isInline(part)).map(writeFile);
  if (files.length === 0) writeBody();
  else writeMultipart('mixed', `=_m_${seed}`, [writeBody, ...files], buffer);
}

/**
 * The line break before a delimiter belongs to the delimiter, not to the part (RFC 2046 section
 * 5.1.1).
 */
function writeMultipart(
  subtype: string,
  boundary: string,
  parts: readonly WritePart[],
  buffer: GrowableBuffer,
): void {
  buffer.writeText(`Content-Type: multipart/${subtype};\r\n boundary="${boundary}"\r\n`);
  for (const writePart of parts) {
    buffer.writeText(`\r\n--${boundary}\r\n`);
    writePart();
  }
  buffer.writeText(`\r\n--${boundary}--`);
}

function writeTextPart(subtype: string, text: string, seed: string, buffer: GrowableBuffer): void {
  const type = `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: `;
  const bytes = Buffer.from(text, 'utf8');
  const extraOctets = bytes.length - text.length;
  const start = buffer.length;
  // Every boundary contains the seed, so text without the seed cannot contain a boundary.
  // Quoted-printable text cannot either, because it escapes the "=" at the start.
  if (extraOctets === 0 && !text.includes(seed)) {
    buffer.writeText(`${type}7bit\r\n\r\n`);
    if (writeSevenBit(bytes, buffer)) return;
    buffer.length = start;
  }
  // Quoted-printable triples the size of non-ASCII characters: base64 is smaller once they are
  // about a fifth of the text. A two-octet character is one octet longer than its string length, a
  // three-octet character two.
  if (extraOctets * 8 > bytes.length) {
    buffer.writeText(`${type}base64\r\n\r\n`);
    writeBase64(Buffer.from(withCanonicalLineBreaks(text), 'utf8'), buffer);
  } else {
    buffer.writeText(`${type}quoted-printable\r\n\r\n`);
    writeQuotedPrintable(bytes, buffer);
  }
}

function writeAttachment(part: Attachment, inline: boolean, buffer: GrowableBuffer): void {
  buffer.writeText(`${attachmentHeader(part, inline)}\r\n`);
  writeBase64(part.content, buffer);
}
