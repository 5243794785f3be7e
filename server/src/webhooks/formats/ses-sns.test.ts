import { createVerify, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  acceptedEvent,
  CREATED_AT_MS,
  EVENT_UUID,
  MESSAGE_ID,
  MESSAGE_UUID,
  recipientEvent,
} from '../../../test/harness/webhooks/source-events.ts';
import { certificateKeyId, keyIdOfToken, sesSns, subscriptionConfirmation } from './ses-sns.ts';
import { loadSigningKey, newSigningKey } from './signing-key.ts';

const AT = '2026-11-15T09:30:00.412Z';
const mail = {
  messageId: MESSAGE_ID,
  source: 'hello@yourdomain.com',
  destination: ['jane@example.com'],
  commonHeaders: {
    from: ['"Acme, Inc." <hello@yourdomain.com>'],
    to: ['jane@example.com'],
    messageId: `<${MESSAGE_ID}@yourdomain.com>`,
    subject: 'Your order',
  },
  tags: { order: ['17'], 'ses:configuration-set': ['receipt', 'shop'] },
};

test.each([
  [
    'message.unsubscribed',
    {
      eventType: 'Subscription',
      subscription: {
        timestamp: AT,
        source: 'UnsubscribeHeader',
        newTopicPreferences: {
          unsubscribeAll: false,
          topicSubscriptionStatus: [{ topicName: 'transactional', subscriptionStatus: 'OptOut' }],
        },
      },
    },
  ],
  [
    'message.delivered',
    {
      eventType: 'Delivery',
      notificationType: 'Delivery',
      delivery: {
        timestamp: AT,
        recipients: ['jane@example.com'],
        smtpResponse: '250 2.0.0 Ok: queued as 4bX1k7',
        reportingMTA: 'mx1.example.com',
      },
    },
  ],
  [
    'message.bounced',
    {
      eventType: 'Bounce',
      notificationType: 'Bounce',
      bounce: {
        timestamp: AT,
        bounceType: 'Permanent',
        bounceSubType: 'NoEmail',
        bouncedRecipients: [
          {
            emailAddress: 'jane@example.com',
            action: 'failed',
            status: '5.1.1',
            diagnosticCode: 'smtp; 550 5.1.1 No such user',
          },
        ],
      },
    },
  ],
  [
    'message.expired',
    { eventType: 'Bounce', bounce: { bounceType: 'Transient', bounceSubType: 'General' } },
  ],
  [
    'message.suppressed',
    {
      eventType: 'Bounce',
      bounce: { bounceType: 'Permanent', bounceSubType: 'OnAccountSuppressionList' },
    },
  ],
  [
    'message.complained',
    {
      eventType: 'Complaint',
      notificationType: 'Complaint',
      complaint: {
        complainedRecipients: [{ emailAddress: 'jane@example.com' }],
        complaintFeedbackType: 'abuse',
        feedbackId: 'r1',
      },
    },
  ],
  [
    'message.deferred',
    {
      eventType: 'DeliveryDelay',
      deliveryDelay: {
        delayType: 'MailboxFull',
        delayedRecipients: [{ emailAddress: 'jane@example.com', status: '4.2.2' }],
      },
    },
  ],
  ['message.failed', { eventType: 'Reject', reject: { reason: 'domain_not_verified' } }],
  ['message.opened', { eventType: 'Open', open: { timestamp: AT } }],
  [
    'message.clicked',
    { eventType: 'Click', click: { timestamp: AT, link: 'https://yourdomain.com/welcome' } },
  ],
] as const)('%s', (type, more) => {
  expect(sesSns.render?.(recipientEvent(type))).toMatchObject({ mail, ...more });
});

test('a rejection that is not about the address is transient', () => {
  const event = recipientEvent('message.bounced', {
    bounce: { class: 'block', reason: 'blocked_reputation', explanation: 'Blocked.' },
  });
  expect(sesSns.render?.(event)).toMatchObject({
    bounce: { bounceType: 'Transient', bounceSubType: 'General' },
  });
});

test('an accepted message is sent to all recipients; blind copies are not in its headers', () => {
  expect(sesSns.render?.(acceptedEvent())).toMatchObject({
    eventType: 'Send',
    mail: {
      destination: ['jane@example.com', 'gone@example.com', 'boss@example.com'],
      commonHeaders: { to: ['jane@example.com'] },
    },
  });
});

async function signing(keyCount = 1) {
  const made = await Promise.all(Array.from({ length: keyCount }, () => newSigningKey('rsa')));
  return {
    certificate: made[0]?.publicKey ?? '',
    signing: {
      eventId: EVENT_UUID,
      createdAtMs: CREATED_AT_MS,
      nowMs: CREATED_AT_MS + 3_600_000,
      endpointId: MESSAGE_UUID,
      keys: made.map(({ secret }) => loadSigningKey('rsa', EVENT_UUID, secret)),
      baseUrl: 'https://mail.example.com',
    },
  };
}

test('the certificate verifies the message, which is the same in every attempt', async () => {
  const { certificate, signing: given } = await signing(2);
  const content = Buffer.from('{"eventType":"Delivery","text":"Grüße ✓"}');
  const request = await sesSns.sign(content, given);
  const again = await sesSns.sign(content, { ...given, nowMs: given.nowMs + 60_000 });
  expect(again.body).toEqual(request.body);
  const message = JSON.parse(request.body.toString());
  expect(message).toMatchObject({
    Type: 'Notification',
    MessageId: EVENT_UUID,
    Message: content.toString(),
    Timestamp: AT,
    SignatureVersion: '2',
    SigningCertURL: expect.stringMatching(
      /^https:\/\/mail\.example\.com\/sns\/SimpleNotificationService-[0-9a-f]{32}\.pem$/,
    ),
  });
  const verifier = createVerify('RSA-SHA256');
  for (const name of ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type']) {
    verifier.update(`${name}\n${message[name]}\n`);
  }
  expect(verifier.verify(certificate, message.Signature, 'base64')).toBe(true);
  expect(request.headers).toMatchObject({
    'content-type': 'text/plain; charset=UTF-8',
    'x-amz-sns-message-type': 'Notification',
    'x-amz-sns-topic-arn': message.TopicArn,
  });
});

test('the certificate is self-signed and valid', async () => {
  const { certificate } = await signing();
  const parsed = new X509Certificate(certificate);
  expect(parsed.verify(parsed.publicKey)).toBe(true);
  expect(parsed.subject).toBe('CN=Postrider webhooks');
  expect(parsed.issuer).toBe(parsed.subject);
  expect(parsed.validToDate.getUTCFullYear()).toBe(9999);
  expect(parsed.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
});

test('a subscription confirmation has a token that leads back to the key', async () => {
  const { signing: given } = await signing();
  const message = JSON.parse((await subscriptionConfirmation(given)).body.toString());
  expect(message.Type).toBe('SubscriptionConfirmation');
  const url = new URL(message.SubscribeURL);
  expect(url.searchParams.get('TopicArn')).toBe(message.TopicArn);
  expect(keyIdOfToken(url.searchParams.get('Token') ?? '')).toBe(EVENT_UUID);
  const file = new URL(message.SigningCertURL).pathname.split('/').at(-1) ?? '';
  expect(certificateKeyId(file)).toBe(EVENT_UUID);
  for (const wrong of ['', 'x.pem', 'SimpleNotificationService-12.pem', `${file}.pem`]) {
    expect(certificateKeyId(wrong)).toBeUndefined();
  }
});

test('headers of the caller follow those of the message', () => {
  const event = recipientEvent('message.delivered');
  const custom = [{ name: 'X-Metadata', value: '{"order":"17"}' }];
  const message = event.message && { ...event.message, custom };
  const names = ['From', 'To', 'Subject', 'Message-ID', 'X-Metadata'];
  expect(sesSns.render?.({ ...event, message })).toMatchObject({
    mail: { headers: names.map((name) => ({ name })) },
  });
});
