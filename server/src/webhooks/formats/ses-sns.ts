import { sign as signWith } from 'node:crypto';
import { promisify } from 'node:util';
import { assert } from '../../lib/assert.ts';
import { encodeId } from '../../lib/ids.ts';
import { formatAddress } from '../../mail/address.ts';
import { bounceTypeOf } from './ses-bounce-type.ts';
import { privateKeyOf } from './signing-key.ts';
import { createdAtOf, replyOf, timeOf, toOf } from './source-event.ts';
import { standardHeaders } from './standard-headers.ts';
import type { SignedRequest, Signing, SourceEvent, WebhookFormat } from './webhook-format.ts';

/**
 * Amazon SES events as Amazon SNS delivers them
 * (https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html,
 * https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html). The certificate that
 * verifies the signature is named in the message, so a new key is used at once.
 */
export const sesSns: WebhookFormat = {
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
  ],
  keys: 'rsa',
  needsCustomHeaders: true,
  render(event) {
    const specific = specificFields(event);
    return specific && { ...specific, mail: mailOf(event) };
  },
  sign(content, signing) {
    return signMessage(
      {
        Type: 'Notification',
        MessageId: signing.eventId,
        TopicArn: topicArn(signing.endpointId),
        Message: content.toString(),
        Timestamp: new Date(signing.createdAtMs).toISOString(),
      },
      signing,
    );
  },
};

/** The request with which SNS asks a new receiver to confirm that it wants the messages. */
export function subscriptionConfirmation(signing: Signing): Promise<SignedRequest> {
  const arn = topicArn(signing.endpointId);
  const token = hexId(newestKey(signing).id);
  const query = new URLSearchParams({
    Action: 'ConfirmSubscription',
    TopicArn: arn,
    Token: token,
  });
  return signMessage(
    {
      Type: 'SubscriptionConfirmation',
      MessageId: signing.eventId,
      Token: token,
      TopicArn: arn,
      Message: `You have chosen to subscribe to the topic ${arn}.\nTo confirm the subscription, visit the SubscribeURL included in this message.`,
      SubscribeURL: `${signing.baseUrl}${SNS_PATH}?${query}`,
      Timestamp: new Date(signing.createdAtMs).toISOString(),
    },
    signing,
  );
}

export const SNS_PATH = '/sns/';

export function topicArn(endpointId: string): string {
  return `arn:aws:sns:postrider:000000000000:${encodeId('whk', endpointId)}`;
}

export function subscriptionArn(endpointId: string): string {
  return `${topicArn(endpointId)}:${endpointId}`;
}

export function certificatePath(keyId: string): string {
  return `${SNS_PATH}SimpleNotificationService-${hexId(keyId)}.pem`;
}

/** The id of the key whose certificate has this file name. */
export function certificateKeyId(file: string): string | undefined {
  const [, token = ''] = /^SimpleNotificationService-(.*)\.pem$/.exec(file) ?? [];
  return keyIdOfToken(token);
}

/** The id of the key that a subscription confirmation was signed with. */
export function keyIdOfToken(token: string): string | undefined {
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(token);
  return parts?.slice(1).join('-');
}

function hexId(uuid: string): string {
  return uuid.replaceAll('-', '');
}

const signAsync = promisify(signWith) as (
  algorithm: string,
  data: Buffer,
  key: ReturnType<typeof privateKeyOf>,
) => Promise<Buffer>;

type SnsMessage = Record<string, string> & { Type: string; TopicArn: string };

/** Fields in this order, each as a line with its name and a line with its value. */
const SIGNED_FIELDS = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
];

async function signMessage(message: SnsMessage, signing: Signing): Promise<SignedRequest> {
  const { baseUrl, endpointId } = signing;
  const key = newestKey(signing);
  const text = SIGNED_FIELDS.filter((name) => name in message)
    .map((name) => `${name}\n${message[name]}\n`)
    .join('');
  // RSA takes about a millisecond, so it does not run on the event loop.
  const signature = await signAsync('sha256', Buffer.from(text), privateKeyOf(key));
  const signed = {
    ...message,
    SignatureVersion: '2',
    Signature: signature.toString('base64'),
    SigningCertURL: baseUrl + certificatePath(key.id),
    ...(message.Type === 'Notification'
      ? { UnsubscribeURL: `${baseUrl}/app/webhooks/${encodeId('whk', endpointId)}` }
      : {}),
  };
  const body = Buffer.from(JSON.stringify(signed));
  return {
    headers: {
      'content-type': 'text/plain; charset=UTF-8',
      'x-amz-sns-message-type': message.Type,
      'x-amz-sns-message-id': message.MessageId as string,
      'x-amz-sns-topic-arn': message.TopicArn,
      ...(message.Type === 'Notification'
        ? { 'x-amz-sns-subscription-arn': subscriptionArn(endpointId) }
        : {}),
      ...standardHeaders(body, signing),
    },
    body,
  };
}

function newestKey({ keys: [key] }: Signing) {
  assert(key, 'an endpoint always has a valid key');
  return key;
}

function mailOf(event: SourceEvent): object {
  const { data, message } = event;
  const destination = data.recipients?.map(({ email }) => email) ?? [data.recipient];
  const to = toOf(event);
  const from = message ? [formatAddress(message.from)] : [];
  const headers = message
    ? [
        { name: 'From', value: from[0] },
        { name: 'To', value: to.join(', ') },
        { name: 'Subject', value: message.subject },
        { name: 'Message-ID', value: `<${message.messageId}>` },
        ...(message.custom ?? []),
      ]
    : [];
  return {
    timestamp: createdAtOf(event),
    messageId: data.message_id,
    source: message?.from.email ?? '',
    sendingAccountId: '000000000000',
    destination,
    // Those that the service adds are not listed.
    headersTruncated: true,
    headers,
    commonHeaders: {
      from,
      to,
      ...(message ? { messageId: `<${message.messageId}>`, subject: message.subject } : {}),
    },
    // /compat/ses stores tags as metadata, and a configuration set as a tag.
    tags: {
      ...Object.fromEntries(Object.entries(data.metadata).map(([name, value]) => [name, [value]])),
      ...(data.tags.length > 0 ? { 'ses:configuration-set': data.tags } : {}),
    },
  };
}

function specificFields(event: SourceEvent): object | undefined {
  const { type, data } = event;
  const timestamp = timeOf(event);
  switch (type) {
    case 'message.accepted':
      return { eventType: 'Send', send: {} };
    case 'message.failed':
      return { eventType: 'Reject', reject: { reason: data.reason ?? 'failed' } };
    case 'message.deferred':
      return {
        eventType: 'DeliveryDelay',
        deliveryDelay: {
          timestamp,
          delayType: delayType(event),
          delayedRecipients: [recipientOf(event)],
        },
      };
    case 'message.delivered':
      return {
        ...feedback('Delivery'),
        delivery: {
          timestamp,
          processingTimeMillis: Math.max(0, event.createdAtMs - Date.parse(createdAtOf(event))),
          recipients: [data.recipient],
          smtpResponse: replyOf(event),
          reportingMTA: data.smtp?.mx ?? '',
          remoteMtaIp: data.smtp?.ip ?? '',
        },
      };
    case 'message.bounced':
    case 'message.expired':
    case 'message.suppressed':
      return { ...feedback('Bounce'), bounce: { timestamp, ...bounceFields(event) } };
    case 'message.complained':
      return {
        ...feedback('Complaint'),
        complaint: {
          timestamp,
          feedbackId: data.report?.id ?? event.id,
          complainedRecipients: [{ emailAddress: data.recipient }],
          complaintFeedbackType: data.report?.feedback_type ?? 'abuse',
          userAgent: data.report?.reported_by ?? '',
          complaintSubType: null,
        },
      };
    case 'message.unsubscribed':
      return { eventType: 'Subscription', subscription: { timestamp, ...preferences(event) } };
    case 'message.opened':
      return { eventType: 'Open', open: { timestamp, ipAddress: '', userAgent: '' } };
    case 'message.clicked':
      return {
        eventType: 'Click',
        click: { timestamp, ipAddress: '', userAgent: '', link: data.url, linkTags: null },
      };
    default:
      return undefined;
  }
}

/** A stream is a topic of one contact list. */
function preferences({ data }: SourceEvent): object {
  const preference = (subscriptionStatus: string): object => ({
    unsubscribeAll: false,
    topicSubscriptionStatus: [{ topicName: data.stream, subscriptionStatus }],
  });
  return {
    contactList: 'postrider',
    source: 'UnsubscribeHeader',
    newTopicPreferences: preference('OptOut'),
    oldTopicPreferences: preference('OptIn'),
  };
}

/** Event publishing and identity notifications name the type differently; receivers read one of them. */
function feedback(type: string): object {
  return { eventType: type, notificationType: type };
}

function recipientOf(event: SourceEvent): object {
  const { data } = event;
  return {
    emailAddress: data.recipient,
    status: data.smtp?.enhanced ?? '',
    diagnosticCode: `smtp; ${replyOf(event)}`,
  };
}

function bounceFields(event: SourceEvent): object {
  const { type, data } = event;
  const shared = { feedbackId: data.report?.id ?? event.id };
  if (type === 'message.suppressed') {
    return {
      ...shared,
      bounceType: 'Permanent',
      bounceSubType: 'OnAccountSuppressionList',
      bouncedRecipients: [
        {
          emailAddress: data.recipient,
          action: 'failed',
          status: '5.1.1',
          diagnosticCode: `The address is on the suppression list: ${data.reason}.`,
        },
      ],
    };
  }
  const expired = { bounceType: 'Transient', bounceSubType: 'General' };
  return {
    ...shared,
    ...(type === 'message.expired' ? expired : bounceTypeOf(data.bounce)),
    bouncedRecipients: [{ ...recipientOf(event), action: 'failed' }],
    reportingMTA: data.report?.reported_by ?? data.smtp?.mx ?? '',
    remoteMtaIp: data.smtp?.ip ?? '',
  };
}

function delayType({ data: { bounce } }: SourceEvent): string {
  switch (bounce?.reason) {
    case 'mailbox_full':
      return 'MailboxFull';
    case 'greylisted':
    case 'rate_limited':
      return 'TransientCommunicationFailure';
    case 'blocked_reputation':
    case 'blocked_policy':
      return 'IPFailure';
    default:
      return 'General';
  }
}
