import type { InboundMessageEventData } from '../events/event-types.ts';
import { encodeId } from '../lib/ids.ts';
import type { InboundContent } from './inbound-content.ts';
import type { InboundMessage } from './inbound-message.ts';

/** The public form of an inbound message: the same in lists, lookups, events and the dashboard. */
export function publicInboundMessage(message: InboundMessage): InboundMessageEventData {
  const { sender, details, inReplyToMessageId: answered } = message;
  return {
    id: encodeId('inm', message.id),
    mode: message.mode,
    received_at: new Date(message.receivedAtMs).toISOString(),
    domain: message.domain,
    envelope: { from: message.mailFrom, to: message.recipients },
    from: sender === null ? null : { email: sender, name: message.senderName },
    to: details.to,
    cc: details.cc,
    reply_to: details.replyTo,
    subject: message.subject,
    message_id: message.headerMessageId,
    in_reply_to: details.inReplyTo,
    in_reply_to_message_id: answered === null ? null : encodeId('msg', answered),
    date: details.date,
    size_bytes: message.sizeBytes,
    attachments: details.attachments,
    authentication: details.authentication,
  };
}

/** With its content, as far as that is still stored. */
export function publicInboundMessageWithContent(
  message: InboundMessage,
  content: InboundContent | undefined,
) {
  return {
    ...publicInboundMessage(message),
    references: message.details.references,
    text: content?.text ?? null,
    html: content?.html ?? null,
    headers: content?.headers ?? [],
  };
}
