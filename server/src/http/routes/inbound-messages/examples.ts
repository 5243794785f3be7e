import type { InboundMessageEventData } from '../../../events/event-types.ts';

export const INBOUND_MESSAGE: InboundMessageEventData = {
  id: 'inm_01kc8x3f7ye6qvj2m4n5p6q7r8',
  mode: 'live',
  received_at: '2026-11-15T09:30:00.000Z',
  domain: 'reply.yourdomain.com',
  envelope: { from: 'jane@example.com', to: ['ticket+42@reply.yourdomain.com'] },
  from: { email: 'jane@example.com', name: 'Jane' },
  to: [{ email: 'ticket+42@reply.yourdomain.com', name: null }],
  cc: [],
  reply_to: [],
  subject: 'Re: Your order',
  message_id: 'CAF8a1@mail.example.com',
  in_reply_to: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8@yourdomain.com',
  in_reply_to_message_id: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
  date: '2026-11-15T09:29:57.000Z',
  size_bytes: 2345,
  attachments: [
    {
      index: 0,
      filename: 'invoice.pdf',
      content_type: 'application/pdf',
      size_bytes: 1201,
      content_id: null,
    },
  ],
  authentication: {
    spf: { result: 'pass', domain: 'example.com' },
    dkim: [{ result: 'pass', domain: 'example.com', selector: 's1' }],
    dmarc: { result: 'pass', policy: 'reject', domain: 'example.com' },
  },
};

export const INBOUND_CONTENT = {
  references: ['msg_01kc8x3f7ye6qvj2m4n5p6q7r8@yourdomain.com'],
  text: 'It has arrived, thank you.',
  html: '<p>It has arrived, thank you.</p>',
  headers: [
    { name: 'From', value: 'Jane <jane@example.com>' },
    { name: 'Subject', value: 'Re: Your order' },
  ],
};
