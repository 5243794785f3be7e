import { isHeaderName, isReservedHeader, parseMessageId } from '../../mail/mime/header.ts';
import {
  malformedMail,
  type ParsedAttachment,
  type ParsedHeader,
  type ParsedMail,
  type ParsedMailbox,
} from '../../mail/mime/parse-mail.ts';
import { headerText } from '../../templates/engine/escape.ts';
import type { OriginalContent } from '../accept/prepare-message.ts';
import type { AddressInput, AttachmentInput, SendRequest } from '../accept/send-request.ts';
import { classifyRecipients } from './classify-recipients.ts';
import { type ControlHeaders, parseControlHeaders, type SendOptions } from './control-headers.ts';

/**
 * Converts a parsed mail and its envelope to the same request that the HTTP API accepts, so that both
 * share every check. The envelope decides who receives the mail; the headers decide how each recipient
 * is displayed. Headers that only servers write (Received, DKIM-Signature, Date and others)
 * are dropped silently, because every mail client adds some of them. A body that must not be changed is
 * passed on as it is, with our header.
 */
export interface SubmittedMessage {
  request: SendRequest;
  idempotencyKey: string | undefined;
  /** Not part of the request, because a client that retries may generate another one. */
  messageId: string | undefined;
  original: OriginalContent | undefined;
  /**
   * What makes two mails the same for an idempotency key: their contents, whatever boundaries the
   * client chose.
   */
  identity(): object;
}

export function mailToSendRequest(
  mail: ParsedMail,
  data: Buffer,
  recipients: readonly string[],
  given: SendOptions = {},
): SubmittedMessage {
  const { control, headers } = splitHeaders(mail.headers);
  const { idempotencyKey, ...options } = control;
  const { html, text } = mail;
  const replyTo = mail.replyTo.map(toAddress);
  const original = toOriginal(mail, data);
  const toAttachments = (): AttachmentInput[] => attachmentsOf(mail);
  const attachments = original ? [] : toAttachments();
  const request: SendRequest = {
    from: senderOf(mail),
    ...classifyRecipients(recipients, mail.to.map(toAddress), mail.cc.map(toAddress)),
    ...(replyTo.length > 0 ? { reply_to: replyTo } : {}),
    subject: headerText(mail.subject),
    ...(html === '' ? {} : { html }),
    placeholders: false,
    // Without a text part, the text is generated from the HTML; a mail without HTML is text only.
    ...(text !== undefined || html === '' ? { text: text ?? '' } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(headers.length > 0 ? { headers } : {}),
    ...options,
    ...given,
  };
  const identity = (): object =>
    original ? { ...request, attachments: toAttachments() } : request;
  return { request, idempotencyKey, messageId: messageIdOf(mail), original, identity };
}

/** An invalid Message-ID is replaced, as by every mail server. */
function messageIdOf({ headers }: ParsedMail): string | undefined {
  const given = headers.filter(({ key }) => key === 'message-id');
  return given.length === 1 && given[0] ? parseMessageId(given[0].value) : undefined;
}

function toOriginal(
  { original, attachments }: ParsedMail,
  data: Buffer,
): OriginalContent | undefined {
  return (
    original && {
      header: original.header,
      body: data.subarray(original.bodyStart),
      attachments: attachments.slice(0, LISTED_MAX).map((part, index) => ({
        filename: filenameOf(part, index),
        content_type: contentTypeOf(part) ?? 'application/octet-stream',
        content_id: LISTED_ID.test(part.contentId ?? '') ? (part.contentId ?? null) : null,
        size_bytes: part.content.byteLength,
      })),
    }
  );
}

/** Exactly one mailbox in exactly one header: clients disagree on which of several they display. */
function senderOf({ from }: ParsedMail): AddressInput {
  const [sender, ...others] = from.flat();
  if (sender && others.length === 0 && from.length === 1) return toAddress(sender);
  throw malformedMail('The message needs one From header with one address.');
}

function toAddress({ address, name }: ParsedMailbox): AddressInput {
  const displayName = headerText(name).trim();
  return displayName === '' ? { email: address } : { email: address, name: displayName };
}

/** Headers that become fields of the request. */
const REQUEST_FIELDS = new Set(['from', 'to', 'cc', 'bcc', 'reply-to', 'subject']);

interface SplitHeaders {
  control: ControlHeaders;
  /** Custom headers in their order; a repeated header stays repeated. */
  headers: [string, string][];
}

function splitHeaders(all: readonly ParsedHeader[]): SplitHeaders {
  const controls: [string, string][] = [];
  const headers: [string, string][] = [];
  for (const { key, name, value } of all) {
    const text = headerText(value).trim();
    if (key.startsWith('x-postrider-')) controls.push([name, text]);
    else if (REQUEST_FIELDS.has(key) || isReservedHeader(key) || !isHeaderName(key)) continue;
    else if (text !== '') headers.push([name, text]);
  }
  return { control: parseControlHeaders(controls), headers };
}

/** Of parts with the same Content-ID, HTML can only refer to the first; the others are files. */
function attachmentsOf(mail: ParsedMail): AttachmentInput[] {
  const seen = new Set<string>();
  return mail.attachments.map((part, index) => {
    const { content_id: contentId, ...file } = toAttachment(part, index);
    if (contentId === undefined || seen.has(contentId)) return file;
    seen.add(contentId);
    return { ...file, content_id: contentId };
  });
}

function toAttachment(part: ParsedAttachment, index: number): AttachmentInput {
  const { buffer, byteOffset, byteLength } = part.content;
  const contentType = contentTypeOf(part);
  return {
    filename: filenameOf(part, index),
    content: Buffer.from(buffer, byteOffset, byteLength).toString('base64'),
    ...(contentType === undefined ? {} : { content_type: contentType }),
    ...(part.isInline && part.contentId !== undefined ? { content_id: part.contentId } : {}),
  };
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;

function contentTypeOf({ mimeType, method, charset }: ParsedAttachment): string | undefined {
  if (!MEDIA_TYPE.test(mimeType)) return undefined;
  let type = mimeType;
  // Calendar clients recognize an invitation only by its method (RFC 6047 section 2.4).
  if (method !== undefined && /^[A-Z]{1,20}$/.test(method)) type += `; method=${method}`;
  if (charset && /^[A-Za-z0-9._-]{1,40}$/.test(charset)) type += `; charset=${charset}`;
  return type;
}

/** Attachments in a body that is sent unchanged are only listed for display. */
const LISTED_MAX = 100;
const LISTED_ID = /^[!-~]{1,256}$/;

const FILENAME_CHARS_MAX = 200;

function filenameOf({ filename, mimeType }: ParsedAttachment, index: number): string {
  const name = headerText(filename ?? '')
    .replace(/[/\\]/g, '_')
    .trim();
  if (name !== '') return name.slice(-FILENAME_CHARS_MAX).toWellFormed();
  const extension = /\/([a-z0-9]{1,8})$/.exec(mimeType)?.[1] ?? 'bin';
  return `attachment-${index + 1}.${extension}`;
}
