import { createHmac } from 'node:crypto';
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
import { mailgun } from './mailgun.ts';
import { loadSigningKey, newSigningKey } from './signing-key.ts';

const common = {
  id: EVENT_ID,
  timestamp: CREATED_AT_MS / 1000,
  recipient: 'jane@example.com',
  'recipient-domain': 'example.com',
  tags: ['receipt', 'shop'],
  'user-variables': { order: '17' },
  flags: { 'is-test-mode': false },
  message: {
    headers: {
      to: 'jane@example.com',
      'message-id': `${MESSAGE_ID}@yourdomain.com`,
      from: '"Acme, Inc." <hello@yourdomain.com>',
      subject: 'Your order',
    },
  },
  envelope: { sender: 'hello@yourdomain.com', targets: 'jane@example.com' },
};

test.each([
  [
    'message.delivered',
    { event: 'delivered', 'delivery-status': { code: 250, 'mx-host': 'mx1.example.com' } },
  ],
  [
    'message.deferred',
    {
      event: 'failed',
      severity: 'temporary',
      reason: 'generic',
      'delivery-status': { code: 452, 'attempt-no': 1, description: 'The mailbox is full.' },
    },
  ],
  [
    'message.bounced',
    {
      event: 'failed',
      severity: 'permanent',
      reason: 'bounce',
      'delivery-status': { code: 550, 'enhanced-code': '5.1.1' },
    },
  ],
  ['message.expired', { event: 'failed', severity: 'permanent', reason: 'old' }],
  [
    'message.failed',
    {
      event: 'failed',
      severity: 'permanent',
      reason: 'generic',
      'delivery-status': { message: 'domain_not_verified' },
    },
  ],
  [
    'message.suppressed',
    {
      event: 'failed',
      severity: 'permanent',
      reason: 'suppress-bounce',
      'delivery-status': { code: 605 },
    },
  ],
  ['message.complained', { event: 'complained' }],
  ['message.opened', { event: 'opened', 'client-info': { bot: 'generic' } }],
  [
    'message.clicked',
    { event: 'clicked', url: 'https://yourdomain.com/welcome', 'client-info': {} },
  ],
] as const)('%s', (type, more) => {
  expect(mailgun.render?.(recipientEvent(type))).toMatchObject({ ...common, ...more });
});

test('an accepted message names its first recipient and all targets', () => {
  expect(mailgun.render?.(acceptedEvent())).toMatchObject({
    ...common,
    event: 'accepted',
    envelope: { targets: 'jane@example.com,gone@example.com,boss@example.com' },
  });
});

test('a message of a batch has the Message-ID that the send was answered with', () => {
  const metadata = { order: '17', 'mailgun-message-id': 'batch@yourdomain.com' };
  expect(mailgun.render?.(recipientEvent('message.delivered', { metadata }))).toMatchObject({
    message: { headers: { 'message-id': 'batch@yourdomain.com' } },
    'user-variables': expect.not.objectContaining(metadata),
  });
});

test('only what a recipient did is an unsubscribe', () => {
  expect(mailgun.render?.(suppressionEvent('suppression.created'))).toMatchObject({
    event: 'unsubscribed',
    recipient: 'jane@example.com',
    tags: [],
    'user-variables': {},
  });
  const manual = suppressionEvent('suppression.created', { reason: 'manual' });
  expect(mailgun.render?.(manual)).toBeUndefined();
  // The event of the message reports it, with the message.
  const evidence = { message_id: MESSAGE_ID };
  const byLink = suppressionEvent('suppression.created', { stream: 'digest', evidence });
  expect(mailgun.render?.(byLink)).toBeUndefined();
  expect(mailgun.render?.(recipientEvent('message.unsubscribed'))).toMatchObject({
    event: 'unsubscribed',
    tags: ['receipt', 'shop'],
  });
});

test('every attempt has a new token, and the documented check accepts it', async () => {
  const [fresh, old] = [await newSigningKey('text'), await newSigningKey('text')];
  const content = Buffer.from('{"event":"delivered","text":"Grüße ✓"}');
  const sign = async (nowMs: number, keys: (typeof fresh)[]) => {
    const { body } = await mailgun.sign(content, {
      eventId: EVENT_UUID,
      createdAtMs: CREATED_AT_MS,
      nowMs,
      endpointId: EVENT_UUID,
      keys: keys.map(({ secret }) => loadSigningKey('text', EVENT_UUID, secret)),
      baseUrl: '',
    });
    return JSON.parse(body.toString());
  };
  const first = await sign(CREATED_AT_MS, [fresh]);
  const second = await sign(CREATED_AT_MS + 1, [fresh]);
  expect(first['event-data']).toEqual({ event: 'delivered', text: 'Grüße ✓' });
  expect(second['event-data']).toEqual(first['event-data']);
  expect(first.signature.token).toHaveLength(50);
  expect(second.signature.token).not.toBe(first.signature.token);
  const isSignedWith = (
    key: typeof fresh,
    { signature: { timestamp, token, signature } }: typeof first,
  ) =>
    createHmac('sha256', key.shown)
      .update(timestamp + token)
      .digest('hex') === signature;
  expect([first, second].every((request) => isSignedWith(fresh, request))).toBe(true);
  expect(isSignedWith(old, await sign(CREATED_AT_MS, [fresh, old]))).toBe(true);
});
