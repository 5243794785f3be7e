import { Type } from 'typebox';
import { INBOX_MESSAGE, INBOX_SUMMARY } from '../messages/examples.ts';
import { id, Metadata, oneOf, Time } from '../../openapi/shared-schemas.ts';

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
    { description: 'The recipients for whom it arrived.' },
  ),
  subject: Type.String(),
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
    links: Type.Array(Type.String(), { description: 'Absolute links, in order.' }),
    codes: Type.Array(Type.String(), { description: 'One-time codes, the likeliest first.' }),
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
