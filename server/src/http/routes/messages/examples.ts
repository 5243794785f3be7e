/** Example records for the reference: one message from acceptance to delivery. */

export const MESSAGE_ID = 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8';

export const SMTP_REPLY = {
  code: 250,
  enhanced: '2.0.0',
  text: 'Ok: queued as 4bX1k7',
  mx: 'mx1.example.com',
  ip: '192.0.2.1',
  tls: 'TLSv1.3',
};

export const BOUNCE = {
  class: 'hard',
  reason: 'unknown_mailbox',
  explanation: 'The mailbox does not exist.',
};

export const BOUNCE_REPLY = { ...SMTP_REPLY, code: 550, enhanced: '5.1.1', text: 'No such user' };

export const ACCEPTED_MESSAGE = {
  id: MESSAGE_ID,
  status: 'queued',
  mode: 'live',
  created_at: '2026-11-15T09:30:00.000Z',
  scheduled_at: null,
  template: { key: 'welcome', version: 3 },
  stream: 'transactional',
  recipients: [
    { email: 'jane@example.com', kind: 'to', status: 'queued' },
    { email: 'old@example.com', kind: 'cc', status: 'suppressed', reason: 'hard_bounce' },
  ],
};

export const MESSAGE_SUMMARY = {
  id: MESSAGE_ID,
  status: 'delivered',
  mode: 'live',
  created_at: '2026-11-15T09:30:00.000Z',
  scheduled_at: null,
  template: { key: 'welcome', version: 3 },
  stream: 'transactional',
  from: { email: 'hello@yourdomain.com', name: 'Your App' },
  subject: 'Welcome, Jane',
  tags: ['welcome'],
  metadata: { user_id: '4711' },
  ttl_seconds: null,
  header_message_id: `<${MESSAGE_ID}@yourdomain.com>`,
  recipients: [
    {
      email: 'jane@example.com',
      name: 'Jane Doe',
      kind: 'to',
      status: 'delivered',
      reason: null,
      explanation: null,
      attempts: 1,
      next_attempt_at: null,
      finished_at: '2026-11-15T09:30:00.412Z',
      complained_at: null,
      smtp: SMTP_REPLY,
      bounce: null,
    },
  ],
};

/** The example message in another state, for operations that change it. */
export function messageIn(
  status: string,
  changes: { scheduled_at?: string; reason?: string; next_attempt_at?: string },
) {
  const { scheduled_at = null, reason = null, next_attempt_at = null } = changes;
  const [recipient] = MESSAGE_SUMMARY.recipients;
  const finished_at = status === 'cancelled' ? '2026-11-15T09:31:00.000Z' : null;
  return {
    ...MESSAGE_SUMMARY,
    status,
    scheduled_at,
    recipients: [
      { ...recipient, status, reason, attempts: 0, next_attempt_at, finished_at, smtp: null },
    ],
  };
}

const aboutMessage = {
  message_id: MESSAGE_ID,
  stream: 'transactional',
  metadata: { user_id: '4711' },
  tags: ['welcome'],
};

const DELIVERED_EVENT = {
  id: 'evt_01kc8x3g0kf3s9w2a4b6c8d0e2',
  type: 'message.delivered',
  api_version: 'v1',
  mode: 'live',
  created_at: '2026-11-15T09:30:00.412Z',
  sequence: 2,
  data: { ...aboutMessage, recipient: 'jane@example.com', attempt: 1, smtp: SMTP_REPLY },
};

export const BOUNCED_EVENT = {
  ...DELIVERED_EVENT,
  type: 'message.bounced',
  data: {
    ...aboutMessage,
    recipient: 'jane@example.com',
    attempt: 1,
    bounce: BOUNCE,
    smtp: BOUNCE_REPLY,
  },
};

export const MESSAGE = { ...MESSAGE_SUMMARY, size_bytes: 4180, events: [DELIVERED_EVENT] };

export const MESSAGE_CONTENT = {
  subject: 'Welcome, Jane',
  html: '<p>Hello Jane, good to have you.</p>',
  text: 'Hello Jane, good to have you.',
  headers: [
    { name: 'From', value: 'Your App <hello@yourdomain.com>' },
    { name: 'To', value: 'Jane Doe <jane@example.com>' },
    { name: 'Subject', value: 'Welcome, Jane' },
  ],
  attachments: [],
  size_bytes: 4180,
};

export const ATTEMPT = {
  recipient: 'jane@example.com',
  number: 1,
  started_at: '2026-11-15T09:30:00.030Z',
  finished_at: '2026-11-15T09:30:00.412Z',
  outcome: 'delivered',
  smtp: SMTP_REPLY,
  bounce: null,
  transcript: [
    { at_ms: 41, side: 'them', text: '220 mx1.example.com ESMTP' },
    { at_ms: 41, side: 'us', text: 'EHLO mail.yourdomain.com' },
    { at_ms: 350, side: 'them', text: '250 2.0.0 Ok: queued as 4bX1k7' },
  ],
};
