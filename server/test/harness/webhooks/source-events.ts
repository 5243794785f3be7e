import type { EventType } from '../../../src/events/event-types.ts';
import { INBOUND_MESSAGE } from '../../../src/http/routes/inbound-messages/examples.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import type {
  InboundEvent,
  SourceData,
  SourceEvent,
} from '../../../src/webhooks/formats/webhook-format.ts';

/** Events as webhook formats read them. */

export const MESSAGE_UUID = '0199a0b0-c000-7000-8000-0123456789ab';
export const MESSAGE_ID = encodeId('msg', MESSAGE_UUID);
export const EVENT_UUID = '0199a0b0-d000-7000-8000-0123456789ab';
export const EVENT_ID = encodeId('evt', EVENT_UUID);
export const CREATED_AT_MS = Date.parse('2026-11-15T09:30:00.412Z');

const REPLY = {
  code: 250,
  enhanced: '2.0.0',
  text: 'Ok: queued as 4bX1k7',
  mx: 'mx1.example.com',
  ip: '192.0.2.1',
  tls: 'TLSv1.3',
};

const REFUSED = { ...REPLY, code: 550, enhanced: '5.1.1', text: '5.1.1 No such user' };

const SPECIFIC: Partial<Record<EventType, Partial<SourceData>>> = {
  'message.suppressed': { attempt: 0, reason: 'hard_bounce' },
  'message.deferred': {
    bounce: { class: 'soft', reason: 'mailbox_full', explanation: 'The mailbox is full.' },
    smtp: { ...REPLY, code: 452, enhanced: '4.2.2', text: 'Mailbox full' },
  },
  'message.delivered': { smtp: REPLY },
  'message.bounced': {
    bounce: {
      class: 'hard',
      reason: 'unknown_mailbox',
      explanation: 'The mailbox does not exist.',
    },
    smtp: REFUSED,
  },
  'message.failed': { reason: 'domain_not_verified' },
  'message.complained': {
    report: { id: 'r1', reported_by: 'Provider-Feedback/1.0', feedback_type: 'abuse' },
  },
  'message.opened': { machine: true },
  'message.clicked': { machine: false, url: 'https://yourdomain.com/welcome' },
};

/** An event about one recipient, with more data or other data than usual. */
export function recipientEvent(type: EventType, more: Partial<SourceData> = {}): SourceEvent {
  const data = {
    message_id: MESSAGE_ID,
    recipient: 'jane@example.com',
    attempt: 1,
    stream: 'transactional',
    metadata: { order: '17' },
    tags: ['receipt', 'shop'],
    ...SPECIFIC[type],
    ...more,
  };
  return event(type, data);
}

export function acceptedEvent(more: Partial<SourceData> = {}): SourceEvent {
  const { recipient: _, attempt: __, ...about } = recipientEvent('message.accepted').data;
  return event('message.accepted', {
    ...about,
    scheduled_at: null,
    recipients: [
      { email: 'jane@example.com', kind: 'to', status: 'queued' },
      { email: 'gone@example.com', kind: 'cc', status: 'suppressed' },
      { email: 'boss@example.com', kind: 'bcc', status: 'queued' },
    ],
    ...more,
  } as SourceData);
}

/** An inbound message as formats read it. */
export function inboundEvent(
  more: Partial<InboundEvent['data']> = {},
  content?: InboundEvent['content'],
): InboundEvent {
  return { createdAtMs: CREATED_AT_MS, data: { ...INBOUND_MESSAGE, ...more }, content };
}

type Suppression = NonNullable<SourceData['suppression']>;

export function suppressionEvent(
  type: 'suppression.created' | 'suppression.deleted',
  more: Partial<Suppression> = {},
): SourceEvent {
  const suppression: Suppression = {
    id: 'sup_01kc8x3f7ye6qvj2m4n5p6q7r8',
    email: 'jane@example.com',
    domain: null,
    stream: null,
    reason: 'unsubscribe',
    evidence: null,
    created_at: '2026-11-15T09:30:00.412Z',
    ...more,
  };
  return { ...event(type, { suppression } as SourceData), message: undefined };
}

function event(type: EventType, data: SourceData): SourceEvent {
  return {
    id: EVENT_UUID,
    type,
    mode: 'live',
    createdAtMs: CREATED_AT_MS,
    data,
    message: {
      from: { email: 'hello@yourdomain.com', name: 'Acme, Inc.' },
      subject: 'Your order',
      messageId: `${MESSAGE_ID}@yourdomain.com`,
    },
  };
}
