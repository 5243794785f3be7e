import { parseTime } from '../../lib/time/rfc3339.ts';
import { type Attachment, isContentId } from '../../mail/mime/attachment.ts';
import { mediaTypeOfFile } from '../../mail/mime/file-media-type.ts';
import {
  headerValueError,
  isHeaderName,
  isReservedHeader,
  parseMessageId,
} from '../../mail/mime/header.ts';
import type { FieldErrors } from './field-errors.ts';
import { deliveryWindowMs, type SendLimits } from './send-limits.ts';
import type { AttachmentInput, SendRequest } from './send-request.ts';

/** The headers, attachments and times of a send. */

const CONTROL_CHARACTERS = /[\p{Cc}]/u;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]{1,127}\/[A-Za-z0-9!#$&^_.+-]{1,127}(;[ -~]{1,256})?$/;

export function parseHeaders(
  request: Partial<SendRequest>,
  limits: SendLimits,
  errors: FieldErrors,
): [string, string][] {
  if (!request.headers) return [];
  const { headers: given } = request;
  const pairs: [string, string][] = Array.isArray(given) ? given : Object.entries(given);
  // A body that failed its schema is checked further; the schema has reported other values.
  const headers = pairs.filter(([, value]) => typeof value === 'string');
  if (headers.length > limits.headersMax) {
    const detail = `A message can have at most ${limits.headersMax} custom headers.`;
    errors.add('/headers', 'too_many_headers', detail);
    return [];
  }
  for (const [name, value] of headers) checkHeader(name, value, limits, errors);
  const bytes = headers.reduce((sum, header) => sum + headerBytes(...header), 0);
  if (bytes > limits.headersBytesMax) {
    const detail = `Custom headers can have at most ${limits.headersBytesMax} bytes in total; these have ${bytes}.`;
    errors.add('/headers', 'too_long', detail);
  }
  return headers;
}

function checkHeader(name: string, value: string, limits: SendLimits, errors: FieldErrors): void {
  const pointer = headerPointer(name);
  if (!isHeaderName(name)) {
    errors.add(pointer, 'invalid_header', 'Not a valid header name (RFC 5322).');
  } else if (isMessageIdHeader(name)) {
    // Checked by parseMessageIdHeader.
  } else if (isReservedHeader(name)) {
    errors.add(
      pointer,
      'reserved_header',
      `${name} is set by the service and cannot be overridden.`,
    );
  } else if (CONTROL_CHARACTERS.test(value.replaceAll('\t', ' '))) {
    const detail = 'A header value cannot contain line breaks or other control characters.';
    errors.add(pointer, 'invalid_text', detail);
  } else checkHeaderSize(name, value, limits, errors);
}

export function isMessageIdHeader(name: string): boolean {
  return name.toLowerCase() === 'message-id';
}

/** The caller's own Message-ID, without angle brackets. It is never rendered. */
export function parseMessageIdHeader(
  headers: readonly [string, string][],
  errors: FieldErrors,
): string | null {
  const given = headers.filter(([name]) => isMessageIdHeader(name));
  const [first, second] = given;
  if (!first) return null;
  const messageId = parseMessageId(first[1]);
  if (messageId !== undefined && !second) return messageId;
  const detail = second
    ? 'A message has one Message-ID.'
    : 'Use <local@domain> in ASCII, such as <order-1234@example.com>.';
  errors.add(headerPointer(first[0]), 'invalid_message_id', detail);
  return null;
}

/** Checks a header after rendering. */
export function checkRenderedHeader(
  name: string,
  value: string,
  limits: SendLimits,
  errors: FieldErrors,
): void {
  checkHeaderSize(name, value, limits, errors);
  const error = headerValueError(name, value);
  if (error) errors.add(headerPointer(name), 'invalid_header_value', error);
}

function checkHeaderSize(
  name: string,
  value: string,
  { headerBytesMax }: SendLimits,
  errors: FieldErrors,
): void {
  if (headerBytes(name, value) <= headerBytesMax) return;
  errors.add(headerPointer(name), 'too_long', `A header can have at most ${headerBytesMax} bytes.`);
}

function headerBytes(name: string, value: string): number {
  return Buffer.byteLength(name) + Buffer.byteLength(value);
}

export function headerPointer(name: string): string {
  return `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function parseAttachments(request: Partial<SendRequest>, errors: FieldErrors): Attachment[] {
  const seen = new Set<string>();
  return (request.attachments ?? []).map((input, index) => {
    const pointer = `/attachments/${index}`;
    const attachment = parseAttachment(input, pointer, errors);
    const { contentId } = attachment;
    if (contentId !== undefined && seen.has(contentId)) {
      const detail = 'Another attachment of the message has this content_id.';
      errors.add(`${pointer}/content_id`, 'duplicate', detail);
    } else if (contentId !== undefined) seen.add(contentId);
    return attachment;
  });
}

function parseAttachment(input: AttachmentInput, pointer: string, errors: FieldErrors): Attachment {
  const { filename, content, content_type: contentType, content_id: contentId } = input;
  if (filename.length === 0 || CONTROL_CHARACTERS.test(filename) || /[/\\]/.test(filename)) {
    const detail = 'A file name cannot contain slashes, line breaks or control characters.';
    errors.add(`${pointer}/filename`, 'invalid_filename', detail);
  }
  const bytes = decodeBase64(content);
  if (!bytes) {
    errors.add(`${pointer}/content`, 'invalid_base64', 'The content must be base64-encoded.');
  }
  if (contentType !== undefined && !MEDIA_TYPE.test(contentType)) {
    const detail = 'Use a media type such as application/pdf.';
    errors.add(`${pointer}/content_type`, 'invalid_media_type', detail);
  }
  if (contentId !== undefined && !isContentId(contentId)) {
    const detail = 'Use letters, digits, dots and dashes; html refers to it as cid:….';
    errors.add(`${pointer}/content_id`, 'invalid_content_id', detail);
  }
  const file = bytes ?? Buffer.alloc(0);
  return {
    filename,
    content: file,
    contentType: contentType ?? mediaTypeOfFile(filename, file),
    ...(contentId === undefined ? {} : { contentId }),
  };
}

/** Undefined if the text is not base64. Tools insert line breaks; any other character is an error. */
export function decodeBase64(text: string): Buffer | undefined {
  const base64 = /\s/.test(text) ? text.replaceAll(/[\r\n\t ]+/g, '') : text;
  const bytes = Buffer.from(base64, 'base64');
  return isBase64(base64, bytes) ? bytes : undefined;
}

/**
 * A regular expression over many megabytes would block the event loop. Content that decodes to the
 * expected number of bytes is valid; only the rest is checked character by character.
 */
function isBase64(text: string, decoded: Buffer): boolean {
  const chars = text.endsWith('==') ? text.length - 2 : text.length - Number(text.endsWith('='));
  const isWhole = chars % 4 !== 1 && decoded.length === Math.floor((chars * 3) / 4);
  // The decoder also accepts the URL-safe alphabet.
  if (isWhole && !text.includes('-') && !text.includes('_')) return text.length % 4 !== 1;
  return text.length % 4 !== 1 && BASE64.test(text);
}

export interface Schedule {
  scheduledAtMs: number | null;
  expiresAtMs: number;
}

export function parseSchedule(
  request: Pick<SendRequest, 'scheduled_at' | 'ttl_seconds'>,
  limits: SendLimits,
  nowMs: number,
  errors: FieldErrors,
): Schedule {
  const windowMs = deliveryWindowMs(limits, request.ttl_seconds ?? null);
  if (request.scheduled_at === undefined) {
    return { scheduledAtMs: null, expiresAtMs: nowMs + windowMs };
  }
  const atMs = parseTime(request.scheduled_at);
  if (atMs === undefined) {
    const detail = 'Use RFC 3339 format with an offset, such as 2027-01-31T09:00:00+01:00.';
    errors.add('/scheduled_at', 'invalid_time', detail);
  } else if (atMs <= nowMs) {
    errors.add('/scheduled_at', 'invalid_time', 'This time is in the past.');
  } else if (atMs > nowMs + limits.scheduleAheadMs) {
    const days = Math.floor(limits.scheduleAheadMs / 86_400_000);
    errors.add(
      '/scheduled_at',
      'invalid_time',
      `Messages can be scheduled at most ${days} days ahead.`,
    );
  }
  return { scheduledAtMs: atMs ?? nowMs, expiresAtMs: (atMs ?? nowMs) + windowMs };
}
