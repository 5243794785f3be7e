import { sign } from 'node:crypto';
import type { BounceReason } from '../../events/event-types.ts';
import { encodeId } from '../../lib/ids.ts';
import { BOUNCE_CLASSES } from '../../messages/verdict/verdict.ts';
import { establishedKey, privateKeyOf } from './signing-key.ts';
import { isOtherUnsubscribe, replyOf, unixSeconds } from './source-event.ts';
import { standardHeaders } from './standard-headers.ts';
import type { SourceEvent, WebhookFormat } from './webhook-format.ts';

/**
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event. A list of events, signed
 * with ECDSA over P-256.
 */
export const sendgrid: WebhookFormat = {
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
  keys: 'ec',
  render(event) {
    if (event.type === 'message.accepted') return processed(event);
    const specific = specificFields(event);
    return specific && [{ ...commonFields(event), ...specific }];
  },
  sign(body, signing) {
    const timestamp = String(Math.floor(signing.nowMs / 1000));
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    const signature = sign('sha256', signed, privateKeyOf(establishedKey(signing.keys)));
    return {
      headers: {
        'content-type': 'application/json',
        'x-twilio-email-event-webhook-signature': signature.toString('base64'),
        'x-twilio-email-event-webhook-timestamp': timestamp,
        ...standardHeaders(body, signing),
      },
      body,
    };
  },
};

/** Every recipient has its own event; suppressed ones get `dropped` instead. */
function processed(event: SourceEvent): object[] | undefined {
  const recipients = event.data.recipients?.filter(({ status }) => status !== 'suppressed') ?? [];
  if (recipients.length === 0) return undefined;
  const common = commonFields(event);
  return recipients.map(({ email }, index) => ({
    ...common,
    sg_event_id: index === 0 ? common.sg_event_id : `${common.sg_event_id}.${index}`,
    email,
    event: 'processed',
  }));
}

function commonFields(event: SourceEvent) {
  const { data, message } = event;
  return {
    // Custom arguments are fields of the event; they cannot replace ours.
    ...data.metadata,
    email: data.recipient ?? data.suppression?.email ?? '',
    timestamp: unixSeconds(event),
    sg_event_id: encodeId('evt', event.id),
    ...(data.message_id === undefined ? {} : { sg_message_id: data.message_id }),
    ...(message ? { 'smtp-id': `<${message.messageId}>` } : {}),
    ...(data.tags?.length > 0 ? { category: data.tags } : {}),
  };
}

function specificFields(event: SourceEvent): object | undefined {
  const { type, data } = event;
  const tls = data.smtp?.tls ? 1 : 0;
  switch (type) {
    case 'message.deferred':
      return { event: 'deferred', response: replyOf(event), attempt: String(data.attempt), tls };
    case 'message.delivered':
      return { event: 'delivered', response: replyOf(event), tls };
    case 'message.bounced':
    case 'message.expired':
      return bounceFields(event);
    case 'message.failed':
      return { event: 'dropped', reason: data.reason ?? 'failed' };
    case 'message.suppressed':
      return { event: 'dropped', reason: DROPPED[data.reason ?? ''] ?? 'Suppressed Address' };
    case 'message.complained':
      return { event: 'spamreport' };
    case 'message.opened':
      return { event: 'open', sg_machine_open: data.machine === true };
    case 'message.clicked':
      return { event: 'click', url: data.url, url_offset: { index: 0, type: 'html' } };
    case 'message.unsubscribed':
      return unsubscribeFields(data.stream);
    case 'suppression.created':
      return isOtherUnsubscribe(event)
        ? unsubscribeFields(data.suppression?.stream ?? null)
        : undefined;
    default:
      return undefined;
  }
}

/** `unsubscribe` means all mail. Receivers would stop more than a recipient who left one stream wants. */
function unsubscribeFields(stream: string | null): object {
  if (stream === null) return { event: 'unsubscribe' };
  return { event: 'group_unsubscribe', stream, ...groupOf(stream) };
}

/** A stream whose key is a number takes the place of the group with this number. */
function groupOf(stream: string | null | undefined): object {
  return /^[1-9]\d{0,8}$/.test(stream ?? '') ? { asm_group_id: Number(stream) } : {};
}

const DROPPED: Record<string, string> = {
  hard_bounce: 'Bounced Address',
  complaint: 'Spam Reporting Address',
  unsubscribe: 'Unsubscribed Address',
};

/** `blocked` says nothing about the address; receivers drop it only after `bounce`. */
function bounceFields(event: SourceEvent): object {
  const { type, data } = event;
  const { bounce, smtp } = data;
  const isHard = type === 'message.bounced' && bounce?.class === 'hard';
  return {
    event: 'bounce',
    type: isHard ? 'bounce' : 'blocked',
    reason: replyOf(event) || 'The message expired before a receiver accepted it.',
    status: smtp?.enhanced ?? (isHard ? '5.0.0' : '4.0.0'),
    bounce_classification: (bounce && CLASSIFICATIONS[bounce.reason]) ?? 'Unclassified',
    tls: smtp?.tls ? 1 : 0,
  };
}

/** Whether bounces for this reason usually have the type `blocked`. */
export function isUsuallyBlocked(reason: BounceReason): boolean {
  return BOUNCE_CLASSES[reason] !== 'hard';
}

const CLASSIFICATIONS: Partial<Record<BounceReason, string>> = {
  unknown_mailbox: 'Invalid Address',
  unknown_domain: 'Invalid Address',
  mailbox_full: 'Mailbox Unavailable',
  mailbox_disabled: 'Mailbox Unavailable',
  blocked_reputation: 'Reputation',
  blocked_policy: 'Reputation',
  content_rejected: 'Content',
  message_too_large: 'Content',
  rate_limited: 'Frequency or Volume Too High',
  authentication_failed: 'Technical Failure',
  network_unreachable: 'Technical Failure',
  connection_lost: 'Technical Failure',
  timed_out: 'Technical Failure',
  tls_required: 'Technical Failure',
  tls_failed: 'Technical Failure',
  protocol_error: 'Technical Failure',
};
