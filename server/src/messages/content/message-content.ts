import { assert } from '../../lib/assert.ts';
import type { Encryptor } from '../../lib/encryption.ts';
import { encodeId } from '../../lib/ids.ts';
import { type NamedMailbox, parseMailbox } from '../../mail/address.ts';
import { htmlToText } from '../../mail/html/html-to-text.ts';
import type { Attachment, OutgoingMail } from '../../mail/mime/compose.ts';

/** An address as it stands in the stored head: already parsed once, at the door. */
export interface StoredAddress {
  email: string;
  name?: string;
}

/** Everything about a message's content that is neither html, text nor attachment. */
export interface ContentHead {
  from: StoredAddress;
  to: StoredAddress[];
  cc: StoredAddress[];
  reply_to: StoredAddress[];
  headers: [string, string][];
}

/** The content of a message, as accepted: final words, no placeholders left. */
export interface MessageContent {
  subject: string;
  head: ContentHead;
  html: string;
  /** Null: made from html when composed. */
  text: string | null;
  attachments: Attachment[];
}

/**
 * The composer's input. It depends on nothing but what is stored, so that every try of a message
 * sends the same bytes. `dateMs` is when it was accepted, or was to leave: filters distrust mail
 * that says it is days old.
 */
export function toOutgoing(id: string, dateMs: number, content: MessageContent): OutgoingMail {
  const { head } = content;
  const from = toMailbox(head.from);
  return {
    messageId: `${encodeId('msg', id)}@${from.domain}`,
    dateMs,
    from,
    to: head.to.map(toMailbox),
    cc: head.cc.map(toMailbox),
    replyTo: head.reply_to.map(toMailbox),
    subject: content.subject,
    html: content.html,
    text: content.text ?? htmlToText(content.html),
    headers: head.headers,
    attachments: content.attachments,
  };
}

function toMailbox(address: StoredAddress): NamedMailbox {
  const parsed = parseMailbox(address.email);
  assert(parsed.ok, 'a stored address was parsed before it was stored');
  return address.name === undefined ? parsed.mailbox : { ...parsed.mailbox, name: address.name };
}

/**
 * The real words of a message that was made with secret values. What is stored in the open is
 * redacted, so that whoever reads contents, now or in years, finds nothing; the words themselves are
 * sealed, and only the delivery engine and the test inbox open them.
 */

export function encryptContent(encryptor: Encryptor, content: MessageContent): Buffer {
  const { subject, head, html, text } = content;
  return encryptor.encrypt(Buffer.from(JSON.stringify({ subject, head, html, text })));
}

/** Undefined when the real words are gone: what is left of the content must not be sent. */
export function decryptContent(
  encryptor: Encryptor,
  encrypted: Buffer,
): Omit<MessageContent, 'attachments'> | undefined {
  if (encrypted.length === 0) return undefined;
  return JSON.parse(encryptor.decrypt(encrypted).toString()) as Omit<MessageContent, 'attachments'>;
}

/** For what the sealer's key is used here, and nowhere else. */
export const CONTENT_KEY_PURPOSE = 'content';
