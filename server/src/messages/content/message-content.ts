import { assert } from '../../lib/assert.ts';
import type { Encryptor } from '../../lib/crypto/encryption.ts';
import { encodeId } from '../../lib/ids.ts';
import { type NamedMailbox, parseMailbox } from '../../mail/address.ts';
import { textPartOf } from '../../mail/html/html-to-text.ts';
import type { Attachment } from '../../mail/mime/attachment.ts';
import type { OutgoingMail } from '../../mail/mime/compose.ts';
import { isMessageId } from '../../mail/mime/header.ts';

/** An address as stored with the content. It was parsed when the message was accepted. */
export interface StoredAddress {
  email: string;
  name?: string;
}

/** Everything in a message's content except html, text and attachments. */
export interface ContentHead {
  from: StoredAddress;
  to: StoredAddress[];
  cc: StoredAddress[];
  reply_to: StoredAddress[];
  headers: [string, string][];
  /** The caller's own, without angle brackets. */
  message_id?: string;
  /**
   * Set when the body is sent as its sender composed it: its Content-* header fields, and the
   * attachments in it. The body is the content of the only stored attachment; html and text are
   * what a reader sees of it.
   */
  original?: { header: string; attachments: AttachmentSummary[] };
}

export interface AttachmentSummary {
  filename: string;
  content_type: string;
  content_id: string | null;
  size_bytes: number;
}

/** The content of a message as accepted: rendered, without placeholders. */
export interface MessageContent {
  subject: string;
  head: ContentHead;
  html: string;
  /** Null: generated from html when the message is composed. */
  text: string | null;
  attachments: Attachment[];
}

/**
 * The composer's input. It depends only on stored data, so that every attempt sends the same bytes.
 * `dateMs` is when the message was accepted or scheduled for: spam filters distrust mail that
 * claims to be days old.
 */
export function toOutgoing(id: string, dateMs: number, content: MessageContent): OutgoingMail {
  const { head } = content;
  const from = toMailbox(head.from);
  return {
    messageId: chosenMessageId(head) ?? generatedMessageId(id, from.domain),
    dateMs,
    from,
    to: head.to.map(toMailbox),
    cc: head.cc.map(toMailbox),
    replyTo: head.reply_to.map(toMailbox),
    subject: content.subject,
    html: content.html,
    text: textPartOf(content),
    headers: head.headers,
    attachments: content.attachments,
    original: head.original && { header: head.original.header, body: originalBody(content) },
  };
}

/** Erasing an address that is part of the ID leaves text that is not a valid ID. */
function chosenMessageId({ message_id: chosen }: ContentHead): string | undefined {
  return chosen !== undefined && isMessageId(chosen) ? chosen : undefined;
}

function originalBody({ attachments: [body] }: MessageContent): Buffer {
  assert(body, 'the body is stored with the message');
  return body.content;
}

/** The Message-ID of a message whose sender gave none. */
export function generatedMessageId(id: string, senderDomain: string): string {
  return `${encodeId('msg', id)}@${senderDomain}`;
}

function toMailbox(address: StoredAddress): NamedMailbox {
  const parsed = parseMailbox(address.email);
  assert(parsed.ok, 'stored addresses are valid');
  return address.name === undefined ? parsed.mailbox : { ...parsed.mailbox, name: address.name };
}

/**
 * Encrypts the original content of a message with secret values. The plain columns hold a redacted
 * copy; only the delivery engine and the test inbox decrypt the original.
 */

export function encryptContent(encryptor: Encryptor, content: MessageContent): Buffer {
  const { subject, head, html, text } = content;
  return encryptor.encrypt(Buffer.from(JSON.stringify({ subject, head, html, text })));
}

/** Undefined when the original content was deleted: the redacted copy must not be sent. */
export function decryptContent(
  encryptor: Encryptor,
  encrypted: Buffer,
): Omit<MessageContent, 'attachments'> | undefined {
  if (encrypted.length === 0) return undefined;
  return JSON.parse(encryptor.decrypt(encrypted).toString()) as Omit<MessageContent, 'attachments'>;
}

/** The purpose that the encryption key for message content is derived for. */
export const CONTENT_KEY_PURPOSE = 'content';
/** A message as its recipient sees it. The same for a dry run and for a stored message. */
export interface ContentView {
  subject: string;
  html: string;
  text: string;
  headers: { name: string; value: string }[];
  attachments: AttachmentSummary[];
  size_bytes: number;
}
