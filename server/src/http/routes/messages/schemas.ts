import { Type } from 'typebox';
import {
  id,
  Metadata,
  Mode,
  NullableTime,
  oneOf,
  Time,
  withDescription,
} from '../../openapi/shared-schemas.ts';
import { Event } from '../events/event-schemas.ts';
import {
  ACCEPTED_MESSAGE,
  ATTEMPT,
  MESSAGE,
  MESSAGE_CONTENT,
  MESSAGE_SUMMARY,
} from './examples.ts';
import { Bounce, SmtpReply } from './reply-schemas.ts';

export { BATCH_METADATA } from '../../../messages/lookup/message-store.ts';

const STATUSES = [
  'scheduled',
  'queued',
  'deferred',
  'delivered',
  'bounced',
  'expired',
  'failed',
  'cancelled',
  'suppressed',
] as const;

export const MESSAGE_STATUSES = [...STATUSES, 'partial'] as const;

export const RecipientStatus = oneOf(STATUSES);
const MessageStatus = oneOf(MESSAGE_STATUSES, {
  description:
    'The status of the recipient. With several recipients, the least finished one; `partial` if all are final but differ.',
});
const Kind = oneOf(['to', 'cc', 'bcc'] as const);

const TemplateUsed = Type.Union([
  Type.Object({
    key: Type.String(),
    version: Type.Union([Type.Integer(), Type.Literal('draft')]),
  }),
  Type.Null(),
]);

const Basics = {
  id: id('msg', 'the message'),
  status: MessageStatus,
  mode: Mode,
  created_at: Time,
  scheduled_at: NullableTime,
  template: TemplateUsed,
  stream: Type.String({ description: 'The key of the stream.' }),
};

export const AcceptedMessage = Type.Object(
  {
    ...Basics,
    recipients: Type.Array(
      Type.Object({
        email: Type.String(),
        kind: Kind,
        status: RecipientStatus,
        reason: Type.Optional(Type.String({ description: 'Why the recipient is suppressed.' })),
      }),
    ),
  },
  {
    title: 'AcceptedMessage',
    examples: [ACCEPTED_MESSAGE],
  },
);

const Recipient = Type.Object(
  {
    email: Type.String(),
    name: Type.Union([Type.String(), Type.Null()]),
    kind: Kind,
    status: RecipientStatus,
    reason: Type.Union([Type.String(), Type.Null()]),
    explanation: Type.Union([Type.String(), Type.Null()], {
      description: 'For a deferred, bounced or failed recipient: an explanation for the sender.',
    }),
    attempts: Type.Integer(),
    next_attempt_at: NullableTime,
    finished_at: NullableTime,
    complained_at: withDescription(
      NullableTime,
      'When a report arrived that the recipient marked the message as spam. The status stays `delivered`.',
    ),
    smtp: Type.Union([SmtpReply, Type.Null()]),
    bounce: Type.Union([Bounce, Type.Null()]),
  },
  { title: 'Recipient' },
);

const MessageFields = {
  ...Basics,
  from: Type.Object({ email: Type.String(), name: Type.Union([Type.String(), Type.Null()]) }),
  subject: Type.String(),
  tags: Type.Array(Type.String()),
  metadata: Metadata,
  ttl_seconds: Type.Union([Type.Integer(), Type.Null()]),
  header_message_id: Type.String({
    description: 'The `Message-ID` header of the mail: the caller’s own, or a generated one.',
  }),
  recipients: Type.Array(Recipient),
};

export const MessageSummary = Type.Object(MessageFields, {
  title: 'MessageSummary',
  examples: [MESSAGE_SUMMARY],
});

export const Message = Type.Object(
  {
    ...MessageFields,
    size_bytes: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The size of the composed message. Null after the content has been deleted.',
    }),
    events: Type.Array(Event, { description: 'The timeline, oldest first.' }),
  },
  { title: 'Message', examples: [MESSAGE] },
);

export const MessageContent = Type.Object(
  {
    subject: Type.String(),
    html: Type.String(),
    text: Type.String(),
    headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
    attachments: Type.Array(
      Type.Object({
        filename: Type.String(),
        content_type: Type.String(),
        content_id: Type.Union([Type.String(), Type.Null()]),
        size_bytes: Type.Integer(),
      }),
    ),
    size_bytes: Type.Integer(),
  },
  { title: 'MessageContent', examples: [MESSAGE_CONTENT] },
);

export const Attempt = Type.Object(
  {
    recipient: Type.String(),
    number: Type.Integer(),
    started_at: Time,
    finished_at: Time,
    outcome: Type.String({ description: 'delivered, deferred, bounced or failed.' }),
    smtp: Type.Union([SmtpReply, Type.Null()]),
    bounce: Type.Union([Bounce, Type.Null()]),
    transcript: Type.Array(
      Type.Object({
        at_ms: Type.Number({ description: 'Milliseconds since the attempt began.' }),
        side: oneOf(['us', 'them', 'note'] as const),
        text: Type.String(),
      }),
      { description: 'The SMTP conversation, without the message itself or credentials.' },
    ),
  },
  { title: 'Attempt', examples: [ATTEMPT] },
);
