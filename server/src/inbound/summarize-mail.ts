import type { InboundMailbox } from '../events/event-types.ts';
import { parseMailbox } from '../mail/address.ts';
import type { ParsedMail, ParsedMailbox } from '../mail/mime/parse-mail.ts';
import type { AddressKey, InboundDetails, InboundMessage } from './inbound-message.ts';

/**
 * Takes from a parsed mail what is stored about it, in lists and events. Anyone can write
 * anything into it: every text is bounded and can be stored, and what cannot be read is absent.
 */
export interface MailSummary
  extends Pick<InboundMessage, 'sender' | 'senderName' | 'subject' | 'headerMessageId'> {
  details: Omit<InboundDetails, 'authentication'>;
}

const SUBJECT_CHARS_MAX = 1_000;
const NAME_CHARS_MAX = 300;
const ADDRESS_CHARS_MAX = 320;
const FILENAME_CHARS_MAX = 300;
const MESSAGE_ID_CHARS_MAX = 500;
/** Of To, Cc and Reply-To each. */
const ADDRESSES_MAX = 100;
const ATTACHMENTS_MAX = 100;
/** The last ones are the nearest. */
const REFERENCES_MAX = 50;

export function summarizeMail(mail: ParsedMail): MailSummary {
  const [sender] = mail.from.flat().slice(0, 1).map(toMailbox);
  const [messageId] = messageIdsIn(mail, 'message-id');
  const [inReplyTo] = messageIdsIn(mail, 'in-reply-to');
  return {
    sender: sender?.email ?? null,
    senderName: sender?.name ?? null,
    subject: cleanText(mail.subject, SUBJECT_CHARS_MAX),
    headerMessageId: messageId ?? null,
    details: {
      to: toMailboxes(mail.to),
      cc: toMailboxes(mail.cc),
      replyTo: toMailboxes(mail.replyTo),
      date: readDate(headerOf(mail, 'date')),
      inReplyTo: inReplyTo ?? null,
      references: messageIdsIn(mail, 'references').slice(-REFERENCES_MAX),
      attachments: mail.attachments
        .slice(0, ATTACHMENTS_MAX)
        .map(({ filename, mimeType, contentId, content }, index) => ({
          index,
          filename: filename === null ? null : cleanText(filename, FILENAME_CHARS_MAX),
          content_type: cleanText(mimeType, FILENAME_CHARS_MAX),
          size_bytes: content.length,
          content_id: contentId === undefined ? null : cleanText(contentId, FILENAME_CHARS_MAX),
        })),
    },
  };
}

/** The addresses by which a message is found, each once. */
export function addressesOf(
  { sender, details }: Pick<MailSummary, 'sender' | 'details'>,
  envelope: { from: string; to: readonly string[] },
): AddressKey[] {
  const byKey = new Map<string, AddressKey>();
  const add = (address: string, role: Partial<AddressKey> = {}): void => {
    const key = addressKey(address);
    if (key === '') return;
    const known = byKey.get(key) ?? { key, isSender: false, isRecipient: false };
    byKey.set(key, { ...known, ...role });
  };
  add(envelope.from, { isSender: true });
  if (sender !== null) add(sender, { isSender: true });
  for (const address of envelope.to) add(address, { isRecipient: true });
  for (const { email } of [...details.to, ...details.cc, ...details.replyTo]) add(email);
  return [...byKey.values()];
}

/** Also for what is not a valid address. */
function addressKey(address: string): string {
  const parsed = parseMailbox(address);
  return parsed.ok ? parsed.mailbox.key : cleanText(address, ADDRESS_CHARS_MAX).toLowerCase();
}

/** Bounded, on one line, and without what PostgreSQL cannot store. */
export function cleanText(text: string, charsMax: number): string {
  return text
    .slice(0, 4 * charsMax)
    .replaceAll('\0', '\ufffd')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, charsMax)
    .toWellFormed();
}

function toMailboxes(given: readonly ParsedMailbox[]): InboundMailbox[] {
  return given.slice(0, ADDRESSES_MAX).map(toMailbox);
}

function toMailbox({ address, name }: ParsedMailbox): InboundMailbox {
  const parsed = parseMailbox(address);
  const shownName = cleanText(name, NAME_CHARS_MAX);
  return {
    email: parsed.ok ? parsed.mailbox.email : cleanText(address, ADDRESS_CHARS_MAX),
    name: shownName === '' ? null : shownName,
  };
}

function headerOf({ headers }: ParsedMail, key: string): string {
  return headers.find((header) => header.key === key)?.value ?? '';
}

/** Without angle brackets. An ID without them is not one (RFC 5322 section 3.6.4). */
function messageIdsIn(mail: ParsedMail, key: string): string[] {
  const ids = headerOf(mail, key).matchAll(/<([^<>\s]+)>/g);
  return [...ids].flatMap(([, id = '']) =>
    id.length <= MESSAGE_ID_CHARS_MAX ? [cleanText(id, MESSAGE_ID_CHARS_MAX)] : [],
  );
}

/** RFC 5322 section 3.3, as far as Date knows it. Without a zone, the time is taken for UTC. */
function readDate(value: string): string | null {
  const text = value
    .slice(0, 100)
    .replace(/\([^()]*\)/g, ' ')
    .trim();
  if (text === '') return null;
  const hasZone = /(?:[+-]\d{4}|[A-Z]{1,3})$/i.test(text);
  const ms = Date.parse(hasZone ? text : `${text} +0000`);
  return ms >= YEAR_0_MS && ms < YEAR_10000_MS ? new Date(ms).toISOString() : null;
}

const YEAR_0_MS = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000_MS = Date.parse('9999-12-31T23:59:59.999Z');
