import { Type } from 'typebox';
import { BOUNCE_REASONS } from '../../../events/event-types.ts';
import { Event } from '../events/schemas.ts';
import {
  ACCEPTED_MESSAGE,
  ATTEMPT,
  BOUNCE,
  MESSAGE,
  MESSAGE_CONTENT,
  MESSAGE_SUMMARY,
  SMTP_ANSWER,
} from './examples.ts';
import { closed, described, id, Metadata, Mode, NullableTime, oneOf, Tag, Time } from '../../openapi/shared-schemas.ts';

const Email = Type.String({
  format: 'email',
  maxLength: 320,
  description: 'An RFC 5321 mailbox. International domains are turned into A-labels.',
  examples: ['jane@example.com'],
});

export const Address = closed(
  { email: Email, name: Type.Optional(Type.String({ maxLength: 320, examples: ['Jane Doe'] })) },
  { title: 'Address' },
);

export const ReplyAddress = closed(
  {
    email: Type.String({
      maxLength: 320,
      description: 'An RFC 5321 mailbox, once its placeholders are filled in.',
      examples: ['support+${ticket.id}@example.com'],
    }),
    name: Type.Optional(Type.String({ maxLength: 320, examples: ['Support'] })),
  },
  { title: 'ReplyAddress' },
);

export const Variables = Type.Record(
  Type.String({ minLength: 1, maxLength: 128 }),
  Type.Unknown(),
  {
    examples: [{ first_name: 'Jane' }],
  },
);

export const Locale = Type.String({
  pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$',
  maxLength: 64,
  description: 'Picks the variant of the template: `de-AT`, then `de`, then its default.',
  examples: ['de-AT'],
});

export const TimeZone = Type.String({
  maxLength: 64,
  description: 'IANA name, for the date filter. Default: UTC.',
  examples: ['Europe/Vienna'],
});

/** As many as an operator can allow; `recipients` of `GET /limits` tells how many it are. */
const RECIPIENTS_MOST = 1000;

export const SendMessage = closed(
  {
    to: described(Address, 'The recipient.'),
    from: Type.Optional(
      described(Address, 'The sender, on a domain of yours. A template may have a default one.'),
    ),
    cc: Type.Optional(
      Type.Array(Address, {
        maxItems: RECIPIENTS_MOST,
        description: 'Further recipients, seen by all.',
      }),
    ),
    bcc: Type.Optional(
      Type.Array(Address, {
        maxItems: RECIPIENTS_MOST,
        description: 'Further recipients, seen by nobody else.',
      }),
    ),
    reply_to: Type.Optional(
      Type.Union([ReplyAddress, Type.Array(ReplyAddress, { minItems: 1, maxItems: 10 })], {
        description: 'Where answers go, when not to the sender. May hold placeholders.',
      }),
    ),
    subject: Type.Optional(
      Type.String({
        maxLength: 2000,
        description: 'May hold `${name}` and `{{ path }}` placeholders.',
        examples: ['Welcome, ${first_name}'],
      }),
    ),
    html: Type.Optional(
      Type.String({
        description: 'Values in it are HTML-escaped; `{{ path | raw }}` opts out.',
        examples: ['<p>Hello {{ contact.first_name | default: "there" }}</p>'],
      }),
    ),
    text: Type.Optional(Type.String({ description: 'Made from `html` when absent.' })),
    variables: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        ...Variables,
        description: 'Values for the placeholders of inline content.',
      }),
    ),
    template_key: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9][a-z0-9_.-]{0,127}$',
        description: 'A stored template, instead of `subject` and `html`.',
        examples: ['welcome'],
      }),
    ),
    template_variables: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        ...Variables,
        description: 'Values for the placeholders of the template.',
      }),
    ),
    template_version: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('draft')], {
        description:
          'A published version, or `"draft"` with a test key. Default: the published one.',
      }),
    ),
    locale: Type.Optional(Locale),
    time_zone: Type.Optional(TimeZone),
    attachments: Type.Optional(
      Type.Array(
        closed({
          filename: Type.String({ minLength: 1, maxLength: 255, examples: ['invoice.pdf'] }),
          content: Type.String({ description: 'Base64.', examples: ['JVBERi0xLjQK'] }),
          content_type: Type.Optional(
            Type.String({ maxLength: 512, examples: ['application/pdf'] }),
          ),
          content_id: Type.Optional(
            Type.String({ maxLength: 256, description: 'Makes it an inline image: `cid:logo`.' }),
          ),
        }),
        { maxItems: 100, description: 'Files, and images shown in the html.' },
      ),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Extra headers. Structural ones (From, To, Date, Content-…) are refused.',
        examples: [{ 'X-Campaign': 'spring' }],
      }),
    ),
    metadata: Type.Optional(Metadata),
    tags: Type.Optional(Type.Array(Tag, { maxItems: 10, description: 'To filter and count by.' })),
    tracking: Type.Optional(
      closed(
        {
          opens: Type.Optional(Type.Boolean()),
          clicks: Type.Optional(Type.Boolean()),
        },
        {
          description:
            'Whether opens and clicks are told. Default: as the domain says. Messages to several ' +
            'recipients and messages with secret values are never tracked.',
        },
      ),
    ),
    scheduled_at: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 64,
        description: 'RFC 3339 with an offset, at most 30 days ahead.',
      }),
    ),
    ttl_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2_592_000,
        description: 'Stop trying after this long: a one-time code is worthless after ten minutes.',
      }),
    ),
  },
  { title: 'SendMessage' },
);

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

const RecipientStatus = oneOf(STATUSES);
const MessageStatus = oneOf(MESSAGE_STATUSES, {
  description:
    'Of the one recipient; with several the least finished, `partial` when final and mixed.',
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
};

export const AcceptedMessage = Type.Object(
  {
    ...Basics,
    recipients: Type.Array(
      Type.Object({
        email: Type.String(),
        kind: Kind,
        status: RecipientStatus,
        reason: Type.Optional(Type.String({ description: 'Why it is suppressed.' })),
      }),
    ),
  },
  {
    title: 'AcceptedMessage',
    examples: [ACCEPTED_MESSAGE],
  },
);

export const SmtpAnswer = Type.Object(
  {
    code: Type.Union([Type.Integer(), Type.Null()]),
    enhanced: Type.Union([Type.String(), Type.Null()]),
    text: Type.String(),
    mx: Type.Union([Type.String(), Type.Null()]),
    ip: Type.Union([Type.String(), Type.Null()]),
    tls: Type.Union([Type.String(), Type.Null()]),
  },
  {
    title: 'SmtpAnswer',
    description:
      'The receiver’s last word, and where it was said. Of a bounce that came back later: the words ' +
      'of the report, and the server that had taken the mail.',
    examples: [SMTP_ANSWER],
  },
);

export const Bounce = Type.Object(
  {
    class: oneOf(['hard', 'soft', 'block'] as const, {
      description: 'Only `hard` adds a suppression.',
    }),
    reason: oneOf(BOUNCE_REASONS),
    explanation: Type.String({ description: 'In plain words, for the sender.' }),
  },
  { title: 'Bounce', examples: [BOUNCE] },
);

const Recipient = Type.Object(
  {
    email: Type.String(),
    name: Type.Union([Type.String(), Type.Null()]),
    kind: Kind,
    status: RecipientStatus,
    reason: Type.Union([Type.String(), Type.Null()]),
    attempts: Type.Integer(),
    next_attempt_at: NullableTime,
    finished_at: NullableTime,
    smtp: Type.Union([SmtpAnswer, Type.Null()]),
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
      description: 'Of the composed mail. Null once the content is past its retention.',
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
    smtp: Type.Union([SmtpAnswer, Type.Null()]),
    bounce: Type.Union([Bounce, Type.Null()]),
    transcript: Type.Array(
      Type.Object({
        at_ms: Type.Number({ description: 'Milliseconds since the attempt began.' }),
        side: oneOf(['us', 'them', 'note'] as const),
        text: Type.String(),
      }),
      { description: 'The SMTP conversation. Never the message itself, never credentials.' },
    ),
  },
  { title: 'Attempt', examples: [ATTEMPT] },
);
