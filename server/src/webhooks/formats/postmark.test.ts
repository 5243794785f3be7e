import { describe, expect, test } from 'vitest';
import {
  inboundEvent,
  MESSAGE_ID,
  recipientEvent,
  suppressionEvent,
} from '../../../test/harness/webhooks/source-events.ts';
import { postmark } from './postmark.ts';
import { bounceIdOf, bounceTimeMs } from './postmark-bounce-id.ts';

const AT = '2026-11-15T09:30:00.412Z';
const common = {
  ServerID: 1,
  MessageStream: 'outbound',
  MessageID: MESSAGE_ID,
  Tag: 'receipt',
  Metadata: { order: '17' },
};

test('a delivery', () => {
  expect(postmark.render?.(recipientEvent('message.delivered'))).toEqual({
    ...common,
    RecordType: 'Delivery',
    Recipient: 'jane@example.com',
    DeliveredAt: AT,
    Details: '250 2.0.0 Ok: queued as 4bX1k7',
  });
});

const bounce = (kind: 'hard' | 'soft' | 'block') =>
  recipientEvent('message.bounced', {
    bounce: { class: kind, reason: 'unknown', explanation: 'Rejected.' },
  });

test.each([
  [bounce('hard'), 'Bounce', 'HardBounce', 1, true],
  [bounce('soft'), 'Bounce', 'SoftBounce', 4096, false],
  [bounce('block'), 'Bounce', 'Blocked', 100_006, false],
  [recipientEvent('message.expired'), 'Bounce', 'SoftBounce', 4096, false],
  [recipientEvent('message.complained'), 'SpamComplaint', 'SpamComplaint', 100_001, true],
] as const)('a bounce of each kind: %#', (event, RecordType, Type, TypeCode, Inactive) => {
  expect(postmark.render?.(event)).toMatchObject({
    ...common,
    RecordType,
    Type,
    TypeCode,
    Inactive,
    CanActivate: Inactive,
    Email: 'jane@example.com',
    From: 'hello@yourdomain.com',
    Subject: 'Your order',
    BouncedAt: AT,
  });
});

test('a bounce has a number that JavaScript can represent, always the same', () => {
  const [first, second] = [1, 2].map(() => postmark.render?.(bounce('hard')));
  expect(first).toEqual(second);
  expect(first).toMatchObject({ ID: expect.toSatisfy(Number.isSafeInteger) });
});

test('the number of a bounce contains its time until 2089', () => {
  for (const time of [AT, '2089-01-01T00:00:00.001Z']) {
    const id = bounceIdOf('019ad1d1-bcfe-71af-bd8a-854aaaabbfff', Date.parse(time));
    expect(id).toSatisfy(Number.isSafeInteger);
    expect(new Date(bounceTimeMs(id)).toISOString()).toBe(time);
  }
});

test('opens and clicks', () => {
  expect(postmark.render?.(recipientEvent('message.opened'))).toMatchObject({
    ...common,
    RecordType: 'Open',
    FirstOpen: true,
    Recipient: 'jane@example.com',
    ReceivedAt: AT,
  });
  expect(postmark.render?.(recipientEvent('message.clicked'))).toMatchObject({
    ...common,
    RecordType: 'Click',
    OriginalLink: 'https://yourdomain.com/welcome',
  });
});

test.each([
  [suppressionEvent('suppression.created'), 'Recipient', true, 'ManualSuppression'],
  [
    suppressionEvent('suppression.created', { reason: 'manual' }),
    'Customer',
    true,
    'ManualSuppression',
  ],
  [
    suppressionEvent('suppression.created', { reason: 'hard_bounce' }),
    'Recipient',
    true,
    'HardBounce',
  ],
  [suppressionEvent('suppression.deleted'), 'Customer', false, null],
] as const)('a subscription change: %#', (event, Origin, SuppressSending, SuppressionReason) => {
  expect(postmark.render?.(event)).toMatchObject({
    RecordType: 'SubscriptionChange',
    MessageStream: 'outbound',
    ChangedAt: AT,
    Recipient: 'jane@example.com',
    Origin,
    SuppressSending,
    SuppressionReason,
  });
});

test('streams other than transactional have their own key as id', () => {
  const delivered = postmark.render?.(recipientEvent('message.delivered', { stream: 'digest' }));
  expect(delivered).toMatchObject({ MessageStream: 'digest' });
  const left = postmark.render?.(suppressionEvent('suppression.created', { stream: 'digest' }));
  expect(left).toMatchObject({ MessageStream: 'digest' });
});

describe('an inbound message', () => {
  const CONTENT = {
    text: 'Thank you.\n\nOn Nov 15, 2026, Shop <shop@yourdomain.com> wrote:\n> It is on its way.',
    html: '<p>Thank you.</p>',
    headers: [
      { name: 'From', value: 'Jane <jane@example.com>' },
      { name: 'Date', value: 'Sun, 15 Nov 2026 10:29:57 +0100' },
      { name: 'X-Spam', value: 'no' },
    ],
    attachments: [{ content: Buffer.from('%PDF-1.4') }],
    raw: Buffer.from('Subject: Re: Grüße\r\n\r\nThank you.'),
  };

  test('has everything that Postmark sends', () => {
    const jane = { Email: 'jane@example.com', Name: 'Jane', MailboxHash: '' };
    const ticket = { Email: 'ticket+42@reply.yourdomain.com', Name: '', MailboxHash: '42' };
    expect(postmark.renderInbound?.(inboundEvent({}, CONTENT))).toEqual({
      MessageID: 'inm_01kc8x3f7ye6qvj2m4n5p6q7r8',
      MessageStream: 'inbound',
      From: 'jane@example.com',
      FromName: 'Jane',
      FromFull: jane,
      To: 'ticket+42@reply.yourdomain.com',
      ToFull: [ticket],
      Cc: '',
      CcFull: [],
      Bcc: '',
      BccFull: [],
      OriginalRecipient: 'ticket+42@reply.yourdomain.com',
      MailboxHash: '42',
      Subject: 'Re: Your order',
      ReplyTo: '',
      Date: 'Sun, 15 Nov 2026 10:29:57 +0100',
      Tag: '',
      TextBody: CONTENT.text,
      HtmlBody: CONTENT.html,
      StrippedTextReply: 'Thank you.',
      RawEmail: 'Subject: Re: Grüße\r\n\r\nThank you.',
      Headers: [{ Name: 'X-Spam', Value: 'no' }],
      Attachments: [
        {
          Name: 'invoice.pdf',
          ContentType: 'application/pdf',
          ContentLength: 1201,
          ContentID: '',
          Content: 'JVBERi0xLjQ=',
        },
      ],
    });
  });

  test('names recipients that are in no header', () => {
    const envelope = {
      from: '',
      to: ['Ticket+42@reply.yourdomain.com', 'hidden@reply.yourdomain.com'],
    };
    expect(postmark.renderInbound?.(inboundEvent({ envelope }, CONTENT))).toMatchObject({
      Bcc: 'hidden@reply.yourdomain.com',
      BccFull: [{ Email: 'hidden@reply.yourdomain.com', Name: '', MailboxHash: '' }],
      OriginalRecipient: 'Ticket+42@reply.yourdomain.com',
    });
  });

  test('is sent without its content once that has been deleted', () => {
    expect(postmark.renderInbound?.(inboundEvent())).toMatchObject({
      TextBody: '',
      HtmlBody: '',
      StrippedTextReply: '',
      RawEmail: undefined,
      Headers: [],
      Date: 'Sun, 15 Nov 2026 09:29:57 GMT',
      Attachments: [{ Name: 'invoice.pdf', Content: '' }],
    });
  });
});
