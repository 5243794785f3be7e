import type { InboundMessageEventData } from '../../events/event-types.ts';
import { formatAddress } from '../../mail/address.ts';
import { resendReceivedEmail } from './resend-received-email.ts';
import { bounceTypeOf } from './ses-bounce-type.ts';
import { createdAtOf, timeOf, toOf } from './source-event.ts';
import { standardHeaders } from './standard-headers.ts';
import type { SourceEvent, WebhookFormat } from './webhook-format.ts';

/**
 * https://resend.com/docs/webhooks/event-types. Signed as Standard Webhooks, with the header names
 * of Svix, who send Resend's webhooks.
 */
export const resend: WebhookFormat = {
  types: [
    'message.accepted',
    'message.scheduled',
    'message.suppressed',
    'message.deferred',
    'message.delivered',
    'message.bounced',
    'message.failed',
    'message.expired',
    'message.complained',
    'message.unsubscribed',
    'message.opened',
    'message.clicked',
    'inbound_message.received',
    'suppression.created',
    'suppression.deleted',
  ],
  keys: 'secret',
  needsCustomHeaders: true,
  render(event) {
    const type = typeOf(event);
    if (type === undefined) return undefined;
    const data = dataOf(event);
    return { type, created_at: timeOf(event), data };
  },
  renderInbound({ createdAtMs, data }) {
    const created_at = new Date(createdAtMs).toISOString();
    return { type: 'email.received', created_at, data: receivedEmail(data) };
  },
  sign(body, signing) {
    const signed = standardHeaders(body, signing);
    return {
      headers: {
        'content-type': 'application/json',
        'svix-id': signed['webhook-id'],
        'svix-timestamp': signed['webhook-timestamp'],
        'svix-signature': signed['webhook-signature'],
      },
      body,
    };
  },
};

function typeOf({ type, data }: SourceEvent): string | undefined {
  switch (type) {
    case 'message.accepted':
      // Resend reports a scheduled email as sent when its time has come, which we do not record.
      return data.scheduled_at ? undefined : 'email.sent';
    case 'message.scheduled':
      return 'email.scheduled';
    case 'message.suppressed':
      return 'email.suppressed';
    case 'message.deferred':
      return 'email.delivery_delayed';
    case 'message.delivered':
      return 'email.delivered';
    case 'message.bounced':
      return 'email.bounced';
    case 'message.failed':
    case 'message.expired':
      return 'email.failed';
    case 'message.complained':
      return 'email.complained';
    case 'message.unsubscribed':
      return 'contact.topics.updated';
    case 'message.opened':
      return 'email.opened';
    case 'message.clicked':
      return 'email.clicked';
    case 'suppression.created':
      return 'suppression.added';
    case 'suppression.deleted':
      return 'suppression.removed';
    default:
      return undefined;
  }
}

function receivedEmail(message: InboundMessageEventData): object {
  const { id, ...email } = resendReceivedEmail(message);
  return { email_id: id, ...email };
}

function dataOf(event: SourceEvent): object | undefined {
  const { type, data } = event;
  if (type === 'message.unsubscribed') {
    return { email: data.recipient, topics: [{ id: data.stream, subscription: 'opt_out' }] };
  }
  return data.suppression ? suppressionData(event) : emailData(event);
}

function emailData(event: SourceEvent): object {
  const { data, message } = event;
  return {
    created_at: createdAtOf(event),
    email_id: data.message_id,
    message_id: message ? `<${message.messageId}>` : '',
    from: message ? formatAddress(message.from) : '',
    to: toOf(event),
    subject: message?.subject ?? '',
    // Adapters for Resend keep their own tags and metadata in them.
    ...(message?.custom?.length ? { headers: message.custom } : {}),
    tags: data.metadata,
    ...details(event),
  };
}

function details(event: SourceEvent): object {
  const { type, data } = event;
  switch (type) {
    case 'message.bounced': {
      const diagnosticCode = data.smtp ? [data.smtp.text] : [];
      return {
        bounce: { message: data.bounce?.explanation ?? '', ...sesTypes(event), diagnosticCode },
      };
    }
    case 'message.clicked':
      // The address and the user agent of a visitor are not recorded.
      return {
        click: { ipAddress: '', link: data.url ?? '', timestamp: timeOf(event), userAgent: '' },
      };
    case 'message.failed':
      return { failed: { reason: data.reason ?? 'failed' } };
    case 'message.expired':
      return { failed: { reason: 'expired' } };
    case 'message.suppressed':
      return {
        suppressed: {
          message: `The address is on the suppression list: ${data.reason}.`,
          type: 'OnAccountSuppressionList',
        },
      };
    default:
      return {};
  }
}

function sesTypes({ data }: SourceEvent): { type: string; subType: string } {
  const { bounceType: type, bounceSubType: subType } = bounceTypeOf(data.bounce);
  return { type, subType };
}

const ORIGINS = {
  hard_bounce: 'bounce',
  complaint: 'complaint',
  manual: 'manual',
  unsubscribe: 'manual',
} as const;

function suppressionData({ data: { suppression } }: SourceEvent): object | undefined {
  return (
    suppression && {
      id: suppression.id,
      email: suppression.email ?? suppression.domain ?? '',
      origin: ORIGINS[suppression.reason],
      source_id: suppression.evidence?.message_id ?? null,
      created_at: suppression.created_at,
    }
  );
}
