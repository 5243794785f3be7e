import { Type } from 'typebox';
import { id, Metadata, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { MESSAGE_ID } from '../messages/examples.ts';

const INBOX_SUMMARY = {
  id: MESSAGE_ID,
  arrived_at: '2026-11-15T09:30:00.052Z',
  from: { email: 'hello@yourdomain.com', name: 'Your App' },
  to: [{ email: 'jane@example.com', name: null, kind: 'to' }],
  subject: 'Your sign-in code',
  stream: 'transactional',
  tags: ['sign-in'],
  metadata: {},
};

const INBOX_MESSAGE = {
  ...INBOX_SUMMARY,
  html: '<p>Your code is <b>428913</b>. <a href="https://yourdomain.com/in/428913">Sign in</a></p>',
  text: 'Your code is 428913. Sign in: https://yourdomain.com/in/428913',
  links: ['https://yourdomain.com/in/428913'],
  codes: ['428913'],
  attachments: [],
};

const Summary = {
  id: id('msg', 'the message'),
  arrived_at: Time,
  from: Type.Object({ email: Type.String(), name: Type.Union([Type.String(), Type.Null()]) }),
  to: Type.Array(
    Type.Object({
      email: Type.String(),
      name: Type.Union([Type.String(), Type.Null()]),
      kind: oneOf(['to', 'cc', 'bcc'] as const),
    }),
    { description: 'The recipients of the test message.' },
  ),
  subject: Type.String(),
  stream: Type.String(),
  tags: Type.Array(Type.String()),
  metadata: Metadata,
};

export const InboxSummary = Type.Object(Summary, {
  title: 'InboxSummary',
  examples: [INBOX_SUMMARY],
});

export const InboxMessage = Type.Object(
  {
    ...Summary,
    html: Type.String(),
    text: Type.String(),
    links: Type.Array(Type.String(), { description: 'Absolute links, in order of appearance.' }),
    codes: Type.Array(Type.String(), { description: 'One-time codes, most likely first.' }),
    attachments: Type.Array(
      Type.Object({
        filename: Type.String(),
        content_type: Type.String(),
        content_id: Type.Union([Type.String(), Type.Null()]),
        size_bytes: Type.Integer(),
      }),
    ),
  },
  { title: 'InboxMessage', examples: [INBOX_MESSAGE] },
);
