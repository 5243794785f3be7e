import type { InboundMailbox, InboundMessageEventData } from '../../events/event-types.ts';
import { formatAddress } from '../../mail/address.ts';
import { replyText } from '../../mail/mime/reply-text.ts';

/** Inbound messages as Postmark describes them, in webhooks and in its API. */

export interface InboundText {
  /** Null if the mail has no such part, or once the content has been deleted. */
  text: string | null;
  html: string | null;
  /** Empty once the content has been deleted. */
  headers: readonly { name: string; value: string }[];
}

/** https://postmarkapp.com/developer/webhooks/inbound-webhook, without attachments and texts. */
export function postmarkInboundMessage(message: InboundMessageEventData) {
  const { from, to, cc, reply_to: replyTo, envelope } = message;
  const [original = ''] = envelope.to;
  const bcc = hiddenRecipients(message);
  return {
    FromName: from?.name ?? '',
    MessageStream: 'inbound',
    From: from?.email ?? '',
    FromFull: toRecipient(from ?? { email: '', name: null }),
    To: toList(to),
    ToFull: to.map(toRecipient),
    Cc: toList(cc),
    CcFull: cc.map(toRecipient),
    Bcc: toList(bcc),
    BccFull: bcc.map(toRecipient),
    OriginalRecipient: original,
    Subject: message.subject,
    MessageID: message.id,
    ReplyTo: toList(replyTo),
    MailboxHash: mailboxHash(original),
    Date: new Date(message.date ?? message.received_at).toUTCString(),
    Tag: '',
  };
}

export function postmarkInboundText({ text, html, headers }: InboundText) {
  const date = headers.find(({ name }) => name.toLowerCase() === 'date')?.value;
  return {
    // As the sender wrote it, with the time zone.
    ...(date ? { Date: date } : {}),
    TextBody: text ?? '',
    HtmlBody: html ?? '',
    StrippedTextReply: (text && replyText(text)) ?? '',
    Headers: headers
      .filter(({ name }) => !HEADERS_WITH_FIELDS.has(name.toLowerCase()))
      .map(({ name, value }) => ({ Name: name, Value: value })),
  };
}

const HEADERS_WITH_FIELDS = new Set(['from', 'to', 'cc', 'bcc', 'reply-to', 'subject', 'date']);

export function postmarkInboundAttachment(
  file: InboundMessageEventData['attachments'][number],
): object {
  return {
    Name: file.filename ?? '',
    ContentType: file.content_type,
    ContentLength: file.size_bytes,
    ContentID: file.content_id ?? '',
  };
}

/** Recipients of the envelope that no header names. */
function hiddenRecipients({ envelope, to, cc }: InboundMessageEventData): InboundMailbox[] {
  const named = new Set([...to, ...cc].map(({ email }) => email.toLowerCase()));
  return envelope.to
    .filter((email) => !named.has(email.toLowerCase()))
    .map((email) => ({ email, name: null }));
}

function toRecipient({ email, name }: InboundMailbox) {
  return { Email: email, Name: name ?? '', MailboxHash: mailboxHash(email) };
}

function toList(mailboxes: readonly InboundMailbox[]): string {
  return mailboxes.map(formatAddress).join(', ');
}

/** The part after the first plus sign: `42` of ticket+42@reply.example.com. */
function mailboxHash(email: string): string {
  const local = email.slice(0, Math.max(0, email.lastIndexOf('@')));
  const at = local.indexOf('+');
  return at === -1 ? '' : local.slice(at + 1);
}
