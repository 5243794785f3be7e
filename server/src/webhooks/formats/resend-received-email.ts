import type { InboundMessageEventData } from '../../events/event-types.ts';
import { formatAddress } from '../../mail/address.ts';

/** An inbound message as Resend describes it, in webhooks and in its API, without its content. */
export function resendReceivedEmail(message: InboundMessageEventData) {
  const { from, to, cc, envelope } = message;
  return {
    id: message.id,
    created_at: message.received_at,
    from: from === null ? '' : formatAddress(from),
    to: to.map(({ email }) => email),
    bcc: [] as string[],
    cc: cc.map(({ email }) => email),
    received_for: envelope.to,
    message_id: message.message_id === null ? '' : `<${message.message_id}>`,
    subject: message.subject,
    attachments: message.attachments.map((file) => ({
      // Positions from 1, as in emails that were sent.
      id: String(file.index + 1),
      filename: file.filename,
      size: file.size_bytes,
      content_type: file.content_type,
      content_disposition: file.content_id === null ? 'attachment' : 'inline',
      content_id: file.content_id,
    })),
  };
}
