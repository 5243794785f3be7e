import { Webhook } from 'svix';
import { expect, test } from 'vitest';
import {
  acceptedEvent,
  CREATED_AT_MS,
  EVENT_ID,
  EVENT_UUID,
  inboundEvent,
  MESSAGE_ID,
  recipientEvent,
  suppressionEvent,
} from '../../../test/harness/webhooks/source-events.ts';
import { resend } from './resend.ts';
import { loadSigningKey, newSigningKey } from './signing-key.ts';

const common = {
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  email_id: MESSAGE_ID,
  message_id: `<${MESSAGE_ID}@yourdomain.com>`,
  from: '"Acme, Inc." <hello@yourdomain.com>',
  to: ['jane@example.com'],
  subject: 'Your order',
  tags: { order: '17' },
};

test.each([
  ['message.delivered', 'email.delivered', {}],
  ['message.deferred', 'email.delivery_delayed', {}],
  ['message.complained', 'email.complained', {}],
  ['message.opened', 'email.opened', {}],
  [
    'message.bounced',
    'email.bounced',
    {
      bounce: {
        message: 'The mailbox does not exist.',
        type: 'Permanent',
        subType: 'NoEmail',
        diagnosticCode: ['5.1.1 No such user'],
      },
    },
  ],
  [
    'message.clicked',
    'email.clicked',
    {
      click: {
        ipAddress: '',
        link: 'https://yourdomain.com/welcome',
        timestamp: '2026-11-15T09:30:00.412Z',
        userAgent: '',
      },
    },
  ],
  ['message.failed', 'email.failed', { failed: { reason: 'domain_not_verified' } }],
  ['message.expired', 'email.failed', { failed: { reason: 'expired' } }],
  [
    'message.suppressed',
    'email.suppressed',
    {
      suppressed: {
        message: 'The address is on the suppression list: hard_bounce.',
        type: 'OnAccountSuppressionList',
      },
    },
  ],
] as const)('%s becomes %s', (type, name, more) => {
  expect(resend.render?.(recipientEvent(type))).toEqual({
    type: name,
    created_at: '2026-11-15T09:30:00.412Z',
    data: { ...common, ...more },
  });
});

test('an accepted message is sent to its visible recipients; a scheduled one is not sent yet', () => {
  expect(resend.render?.(acceptedEvent())).toMatchObject({ type: 'email.sent', data: common });
  const scheduled = acceptedEvent({ scheduled_at: '2026-12-01T00:00:00.000Z' });
  expect(resend.render?.(scheduled)).toBeUndefined();
});

test('suppressions carry the name of their origin', () => {
  const added = suppressionEvent('suppression.created', { reason: 'hard_bounce' });
  expect(resend.render?.(added)).toMatchObject({
    type: 'suppression.added',
    data: { email: 'jane@example.com', origin: 'bounce', source_id: null },
  });
});

test('a recipient who leaves a stream opts out of a topic', () => {
  const event = recipientEvent('message.unsubscribed', { stream: 'digest' });
  expect(resend.render?.(event)).toMatchObject({
    type: 'contact.topics.updated',
    data: { email: 'jane@example.com', topics: [{ id: 'digest', subscription: 'opt_out' }] },
  });
});

test('a message that was deleted leaves its fields empty', () => {
  const event = { ...recipientEvent('message.delivered'), message: undefined };
  expect(resend.render?.(event)).toMatchObject({
    data: { email_id: MESSAGE_ID, from: '', subject: '', to: ['jane@example.com'] },
  });
});

test('the library of Svix verifies both secrets during a rotation', async () => {
  const [fresh, old] = [await newSigningKey('secret'), await newSigningKey('secret')];
  const body = Buffer.from('{"type":"email.delivered"}');
  const request = await resend.sign(body, {
    eventId: EVENT_UUID,
    createdAtMs: CREATED_AT_MS,
    nowMs: Date.now(),
    endpointId: EVENT_UUID,
    keys: [fresh, old].map(({ secret }) => loadSigningKey('secret', EVENT_UUID, secret)),
    baseUrl: '',
  });
  expect(request.headers['svix-id']).toBe(EVENT_ID);
  for (const { shown } of [fresh, old]) {
    expect(new Webhook(shown).verify(body, request.headers)).toEqual({
      type: 'email.delivered',
    });
  }
});

test('an inbound message, without its content', () => {
  expect(
    resend.renderInbound?.(inboundEvent({ cc: [{ email: 'cc@example.org', name: 'C' }] })),
  ).toEqual({
    type: 'email.received',
    created_at: '2026-11-15T09:30:00.412Z',
    data: {
      email_id: 'inm_01kc8x3f7ye6qvj2m4n5p6q7r8',
      created_at: '2026-11-15T09:30:00.000Z',
      from: 'Jane <jane@example.com>',
      to: ['ticket+42@reply.yourdomain.com'],
      cc: ['cc@example.org'],
      bcc: [],
      received_for: ['ticket+42@reply.yourdomain.com'],
      message_id: '<CAF8a1@mail.example.com>',
      subject: 'Re: Your order',
      attachments: [
        {
          id: '1',
          filename: 'invoice.pdf',
          size: 1201,
          content_type: 'application/pdf',
          content_disposition: 'attachment',
          content_id: null,
        },
      ],
    },
  });
});

test('an inbound message without a sender and a Message-ID', () => {
  expect(resend.renderInbound?.(inboundEvent({ from: null, message_id: null }))).toMatchObject({
    data: { from: '', message_id: '' },
  });
});

test('headers of the caller are listed, where adapters have tags and metadata', () => {
  const event = recipientEvent('message.delivered');
  const custom = [{ name: 'X-Tags', value: '["receipt"]' }];
  const message = event.message && { ...event.message, custom };
  expect(resend.render?.({ ...event, message })).toMatchObject({ data: { headers: custom } });
  expect(resend.render?.(event)).not.toHaveProperty('data.headers');
});
