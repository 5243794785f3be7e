import type { BounceReason } from '../../events/event-types.ts';
import { BOUNCE_CLASSES } from '../../messages/verdict/verdict.ts';
import { bounceIdOf } from './postmark-bounce-id.ts';
import {
  postmarkInboundAttachment,
  postmarkInboundMessage,
  postmarkInboundText,
} from './postmark-inbound.ts';
import { toStreamId } from './postmark-stream-id.ts';
import { replyOf, timeOf } from './source-event.ts';
import { standardHeaders } from './standard-headers.ts';
import type { SourceEvent, WebhookFormat } from './webhook-format.ts';

/**
 * https://postmarkapp.com/developer/webhooks/webhooks-overview. Postmark does not sign requests;
 * receivers check a password or a header, which are headers of the endpoint.
 */
export const postmark: WebhookFormat = {
  types: [
    'message.delivered',
    'message.bounced',
    'message.expired',
    'message.complained',
    'message.opened',
    'message.clicked',
    'inbound_message.received',
    'suppression.created',
    'suppression.deleted',
  ],
  keys: 'secret',
  render: (event) => (event.data.suppression ? subscriptionChange(event) : postmarkRecord(event)),
  needsInboundContent: true,
  renderInbound: ({ data, content }) => ({
    ...postmarkInboundMessage(data),
    ...postmarkInboundText(content ?? { text: null, html: null, headers: [] }),
    // A setting at Postmark, without which the receivers of Rails and Laravel reject requests.
    RawEmail: content?.raw.toString('utf8'),
    Attachments: data.attachments.map((file) => ({
      ...postmarkInboundAttachment(file),
      Content: base64Of(content?.attachments[file.index]),
    })),
  }),
  sign: (body, signing) => ({
    headers: { 'content-type': 'application/json', ...standardHeaders(body, signing) },
    body,
  }),
};

function base64Of(file: { content: Uint8Array } | undefined): string {
  return file ? Buffer.from(file.content).toString('base64') : '';
}

/** The API of Postmark under /compat/postmark returns the same value. */
const SERVER = { ServerID: 1 };

/** An event of a message as Postmark describes it, in webhooks and in its API. */
export function postmarkRecord(event: SourceEvent): object | undefined {
  const { type, data } = event;
  const about = {
    ...SERVER,
    MessageStream: toStreamId(data.stream),
    MessageID: data.message_id,
    Tag: data.tags[0] ?? '',
    Metadata: data.metadata,
  };
  switch (type) {
    case 'message.delivered':
      return {
        RecordType: 'Delivery',
        ...about,
        Recipient: data.recipient,
        DeliveredAt: timeOf(event),
        Details: replyOf(event),
      };
    case 'message.bounced':
    case 'message.expired':
    case 'message.complained':
      return { ...about, ...bounceRecord(event) };
    case 'message.opened':
      // Only first opens are recorded, without anything about the visitor.
      return { RecordType: 'Open', FirstOpen: true, ...about, ...visit(event) };
    case 'message.clicked':
      return {
        RecordType: 'Click',
        ClickLocation: 'HTML',
        OriginalLink: data.url,
        ...about,
        ...visit(event),
      };
    default:
      return undefined;
  }
}

function visit(event: SourceEvent): object {
  return {
    Recipient: event.data.recipient,
    ReceivedAt: timeOf(event),
    UserAgent: '',
    Platform: 'Unknown',
    Client: {},
    OS: {},
    Geo: {},
  };
}

/** The type that bounces for this reason usually have. */
export function postmarkBounceType(reason: BounceReason) {
  return BOUNCE_TYPES[BOUNCE_CLASSES[reason] ?? 'soft'];
}

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types */
export const BOUNCE_TYPES = {
  hard: { Type: 'HardBounce', TypeCode: 1, Name: 'Hard bounce' },
  soft: { Type: 'SoftBounce', TypeCode: 4096, Name: 'Soft bounce' },
  block: { Type: 'Blocked', TypeCode: 100_006, Name: 'ISP block' },
  complaint: { Type: 'SpamComplaint', TypeCode: 100_001, Name: 'Spam complaint' },
};

function bounceRecord(event: SourceEvent): object {
  const { type, data, message } = event;
  const isComplaint = type === 'message.complained';
  const kind = isComplaint ? 'complaint' : (data.bounce?.class ?? 'soft');
  // Such an address is suppressed, and can be removed from the suppression list.
  const isInactive = kind === 'complaint' || kind === 'hard';
  return {
    RecordType: isComplaint ? 'SpamComplaint' : 'Bounce',
    ID: bounceIdOf(event.id, event.createdAtMs),
    ...BOUNCE_TYPES[kind],
    Description: isComplaint
      ? 'The recipient marked the message as spam.'
      : (data.bounce?.explanation ?? 'The message expired before a receiver accepted it.'),
    Details: replyOf(event),
    Email: data.recipient,
    From: message?.from.email ?? '',
    Subject: message?.subject ?? '',
    BouncedAt: timeOf(event),
    DumpAvailable: Boolean(data.smtp),
    Inactive: isInactive,
    CanActivate: isInactive,
  };
}

const SUPPRESSION_REASONS = {
  hard_bounce: 'HardBounce',
  complaint: 'SpamComplaint',
  manual: 'ManualSuppression',
  unsubscribe: 'ManualSuppression',
} as const;

function subscriptionChange(event: SourceEvent): object | undefined {
  const { type, data } = event;
  const { suppression } = data;
  if (!suppression) return undefined;
  const isSuppressed = type === 'suppression.created';
  return {
    RecordType: 'SubscriptionChange',
    ...SERVER,
    MessageStream: toStreamId(suppression.stream),
    MessageID: suppression.evidence?.message_id ?? '00000000-0000-0000-0000-000000000000',
    ChangedAt: timeOf(event),
    Recipient: suppression.email ?? suppression.domain,
    Origin: suppression.reason === 'manual' || !isSuppressed ? 'Customer' : 'Recipient',
    SuppressSending: isSuppressed,
    SuppressionReason: isSuppressed ? SUPPRESSION_REASONS[suppression.reason] : null,
    Tag: '',
    Metadata: {},
  };
}
