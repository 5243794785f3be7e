import { EventWebhook } from '@sendgrid/eventwebhook';
import { expect, test } from 'vitest';
import {
  acceptedEvent,
  CREATED_AT_MS,
  EVENT_ID,
  EVENT_UUID,
  MESSAGE_ID,
  recipientEvent,
  suppressionEvent,
} from '../../../test/harness/webhooks/source-events.ts';
import { sendgrid } from './sendgrid.ts';
import { loadSigningKey, newSigningKey } from './signing-key.ts';

const common = {
  email: 'jane@example.com',
  timestamp: Math.floor(CREATED_AT_MS / 1000),
  sg_event_id: EVENT_ID,
  sg_message_id: MESSAGE_ID,
  'smtp-id': `<${MESSAGE_ID}@yourdomain.com>`,
  category: ['receipt', 'shop'],
  order: '17',
};

test.each([
  ['message.delivered', { event: 'delivered', response: '250 2.0.0 Ok: queued as 4bX1k7', tls: 1 }],
  [
    'message.deferred',
    { event: 'deferred', response: '452 4.2.2 Mailbox full', attempt: '1', tls: 1 },
  ],
  [
    'message.bounced',
    {
      event: 'bounce',
      type: 'bounce',
      reason: '550 5.1.1 No such user',
      status: '5.1.1',
      bounce_classification: 'Invalid Address',
      tls: 1,
    },
  ],
  [
    'message.expired',
    {
      event: 'bounce',
      type: 'blocked',
      reason: 'The message expired before a receiver accepted it.',
      status: '4.0.0',
      bounce_classification: 'Unclassified',
      tls: 0,
    },
  ],
  ['message.failed', { event: 'dropped', reason: 'domain_not_verified' }],
  ['message.suppressed', { event: 'dropped', reason: 'Bounced Address' }],
  ['message.complained', { event: 'spamreport' }],
  ['message.opened', { event: 'open', sg_machine_open: true }],
  [
    'message.clicked',
    {
      event: 'click',
      url: 'https://yourdomain.com/welcome',
      url_offset: { index: 0, type: 'html' },
    },
  ],
] as const)('%s', (type, more) => {
  expect(sendgrid.render?.(recipientEvent(type))).toEqual([{ ...common, ...more }]);
});

test('a rejection that is not about the address is a block', () => {
  const event = recipientEvent('message.bounced', {
    bounce: { class: 'block', reason: 'blocked_reputation', explanation: 'Blocked.' },
  });
  expect(sendgrid.render?.(event)).toMatchObject([
    { event: 'bounce', type: 'blocked', bounce_classification: 'Reputation' },
  ]);
});

test('an accepted message is processed for every recipient that is not suppressed', () => {
  expect(sendgrid.render?.(acceptedEvent())).toEqual([
    { ...common, event: 'processed' },
    { ...common, email: 'boss@example.com', sg_event_id: `${EVENT_ID}.1`, event: 'processed' },
  ]);
  const recipients = [{ email: 'a@example.com', kind: 'to', status: 'suppressed' }] as const;
  expect(sendgrid.render?.(acceptedEvent({ recipients: [...recipients] }))).toBeUndefined();
});

test('only what a recipient did is an unsubscribe', () => {
  expect(sendgrid.render?.(suppressionEvent('suppression.created'))).toMatchObject([
    { event: 'unsubscribe', email: 'jane@example.com' },
  ]);
  const manual = suppressionEvent('suppression.created', { reason: 'manual' });
  expect(sendgrid.render?.(manual)).toBeUndefined();
});

test('leaving one stream is not an unsubscribe from all mail, and is reported once', () => {
  const stream = 'digest';
  const left = [{ event: 'group_unsubscribe', email: 'jane@example.com', stream }];
  const byLink = recipientEvent('message.unsubscribed', { stream });
  expect(sendgrid.render?.(byLink)).toMatchObject([{ ...left[0], sg_message_id: MESSAGE_ID }]);
  const byGroup = recipientEvent('message.unsubscribed', { stream: '12345' });
  expect(sendgrid.render?.(byGroup)).toMatchObject([{ stream: '12345', asm_group_id: 12345 }]);
  expect(sendgrid.render?.(byLink)).not.toMatchObject([{ asm_group_id: expect.anything() }]);
  const added = (evidence: { message_id: string } | null) =>
    sendgrid.render?.(suppressionEvent('suppression.created', { stream, evidence }));
  expect(added(null)).toMatchObject(left);
  expect(added({ message_id: MESSAGE_ID })).toBeUndefined();
});

test('custom arguments cannot replace fields of the event', () => {
  const event = recipientEvent('message.delivered', {
    metadata: { email: 'other@example.com', event: 'bounce', plan: 'pro' },
  });
  expect(sendgrid.render?.(event)).toMatchObject([
    { email: 'jane@example.com', event: 'delivered', plan: 'pro' },
  ]);
});

test('the library of SendGrid verifies the previous key during a rotation, then the new one', async () => {
  const [fresh, old] = [await newSigningKey('ec'), await newSigningKey('ec')];
  const body = Buffer.from('[{"event":"delivered","text":"Grüße ✓"}]');
  const sign = async (keys: (typeof fresh)[]) => {
    const { headers } = await sendgrid.sign(body, {
      eventId: EVENT_UUID,
      createdAtMs: CREATED_AT_MS,
      nowMs: Date.now(),
      endpointId: EVENT_UUID,
      keys: keys.map(({ secret }) => loadSigningKey('ec', EVENT_UUID, secret)),
      baseUrl: '',
    });
    const verifier = new EventWebhook();
    return [fresh, old].map(({ publicKey }) =>
      verifier.verifySignature(
        verifier.convertPublicKeyToECDSA(publicKey ?? ''),
        body,
        headers['x-twilio-email-event-webhook-signature'] ?? '',
        headers['x-twilio-email-event-webhook-timestamp'] ?? '',
      ),
    );
  };
  expect(await sign([fresh, old])).toEqual([false, true]);
  expect(await sign([fresh])).toEqual([true, false]);
});
