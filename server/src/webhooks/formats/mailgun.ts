import { encodeId } from '../../lib/ids.ts';
import { formatAddress } from '../../mail/address.ts';
import { addressDomain } from '../../messages/queue-shard.ts';
import { establishedKey } from './signing-key.ts';
import { isOtherUnsubscribe, replyOf } from './source-event.ts';
import type { SourceEvent, WebhookFormat } from './webhook-format.ts';

/**
 * https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-payloads. The event,
 * and beside it in the body a signature over a time and a token, which both are new in every attempt:
 * receivers reject an old time and a token that they have seen.
 */
export const mailgun: WebhookFormat = {
  types: [
    'message.accepted',
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
    'suppression.created',
  ],
  keys: 'text',
  render(event) {
    const specific = specificFields(event);
    return specific && { ...commonFields(event), ...specific };
  },
  sign(content, { eventId, nowMs, keys }) {
    const { hmac } = establishedKey(keys);
    const timestamp = String(Math.floor(nowMs / 1000));
    // Derived, so that it differs between attempts and endpoints and needs no random source.
    const token = hmac(Buffer.from(`${eventId}.${nowMs}`))
      .toString('hex')
      .slice(0, 50);
    const signature = hmac(Buffer.from(timestamp + token)).toString('hex');
    const parts = JSON.stringify({ signature: { timestamp, token, signature } }).slice(0, -1);
    return {
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat([Buffer.from(`${parts},"event-data":`), content, Buffer.from('}')]),
    };
  },
};

/** /compat/mailgun answers with one Message-ID for all messages of a batch, and stores it here. */
const BATCH_MESSAGE_ID = 'mailgun-message-id';

function commonFields(event: SourceEvent): object {
  const { data, message, mode } = event;
  const recipient = recipientOf(event);
  const { [BATCH_MESSAGE_ID]: batchMessageId, ...userVariables } = data.metadata ?? {};
  return {
    id: encodeId('evt', event.id),
    timestamp: event.createdAtMs / 1000,
    recipient,
    'recipient-domain': addressDomain(recipient),
    tags: data.tags ?? [],
    campaigns: [],
    'user-variables': userVariables,
    flags: {
      'is-routed': false,
      'is-authenticated': true,
      'is-system-test': false,
      'is-test-mode': mode === 'test',
    },
    message: {
      headers: {
        to: recipient,
        'message-id': batchMessageId ?? message?.messageId ?? '',
        from: message ? formatAddress(message.from) : '',
        subject: message?.subject ?? '',
      },
      attachments: [],
      size: 0,
    },
    envelope: {
      transport: 'smtp',
      sender: message?.from.email ?? '',
      targets: data.recipients?.map(({ email }) => email).join(',') ?? recipient,
    },
  };
}

/** Mailgun has an event per recipient, also for `accepted`; ours names the first, and all targets. */
function recipientOf({ data }: SourceEvent): string {
  return data.recipient ?? data.recipients?.[0]?.email ?? data.suppression?.email ?? '';
}

function specificFields(event: SourceEvent): object | undefined {
  const { type, data } = event;
  switch (type) {
    case 'message.accepted':
      return { event: 'accepted', 'log-level': 'info', method: 'HTTP' };
    case 'message.delivered':
      return { event: 'delivered', 'log-level': 'info', 'delivery-status': deliveryStatus(event) };
    case 'message.deferred':
      return failed(event, 'temporary', 'generic');
    case 'message.bounced':
      return failed(event, 'permanent', data.bounce?.class === 'hard' ? 'bounce' : 'espblock');
    case 'message.failed':
      return failed(event, 'permanent', 'generic');
    case 'message.expired':
      return failed(event, 'permanent', 'old');
    case 'message.suppressed':
      return failed(event, 'permanent', SUPPRESSED[data.reason ?? ''] ?? 'suppress-bounce');
    case 'message.complained':
      return { event: 'complained', 'log-level': 'warn' };
    case 'message.opened':
      return { event: 'opened', 'log-level': 'info', ...visit(event) };
    case 'message.clicked':
      return { event: 'clicked', 'log-level': 'info', url: data.url, ...visit(event) };
    case 'message.unsubscribed':
      return UNSUBSCRIBED;
    case 'suppression.created':
      return isOtherUnsubscribe(event) ? UNSUBSCRIBED : undefined;
    default:
      return undefined;
  }
}

const UNSUBSCRIBED = { event: 'unsubscribed', 'log-level': 'warn' };

const SUPPRESSED: Record<string, string> = {
  hard_bounce: 'suppress-bounce',
  complaint: 'suppress-complaint',
  unsubscribe: 'suppress-unsubscribe',
};

function failed(event: SourceEvent, severity: string, reason: string): object {
  return {
    event: 'failed',
    'log-level': severity === 'permanent' ? 'error' : 'warn',
    severity,
    reason,
    'delivery-status': deliveryStatus(event),
  };
}

/** What Mailgun gives instead of a reply when it did not contact the receiver. */
const NOT_ATTEMPTED = 605;

function deliveryStatus(event: SourceEvent): object {
  const { data } = event;
  const { smtp } = data;
  return {
    code: smtp?.code ?? NOT_ATTEMPTED,
    message: replyOf(event) || (data.reason ?? ''),
    description: data.bounce?.explanation ?? '',
    'attempt-no': data.attempt,
    'enhanced-code': smtp?.enhanced ?? '',
    'mx-host': smtp?.mx ?? '',
    tls: Boolean(smtp?.tls),
    'certificate-verified': false,
  };
}

/** Nothing about a visitor is recorded, except whether it was a program. */
function visit({ data }: SourceEvent): object {
  return { ip: '', geolocation: {}, 'client-info': data.machine ? { bot: 'generic' } : {} };
}
