import { Type } from 'typebox';
import {
  DKIM_RESULTS,
  DMARC_POLICIES,
  DMARC_RESULTS,
  SPF_RESULTS,
} from '../../../mail/authentication/authentication-results.ts';
import { Address, SendMessage } from '../../../messages/accept/send-request.ts';
import {
  closed,
  id,
  Mode,
  NullableTime,
  oneOf,
  Time,
  withDescription,
} from '../../openapi/shared-schemas.ts';
import { INBOUND_CONTENT, INBOUND_MESSAGE } from './examples.ts';

const NullableText = Type.Union([Type.String(), Type.Null()]);

const Mailbox = Type.Object(
  { email: Type.String(), name: NullableText },
  { title: 'InboundMailbox' },
);

const Attachment = Type.Object(
  {
    index: Type.Integer({ description: 'Its place in the message, from 0.' }),
    filename: NullableText,
    content_type: Type.String(),
    size_bytes: Type.Integer(),
    content_id: Type.Union([Type.String(), Type.Null()], {
      description: 'By which the HTML refers to it, without angle brackets.',
    }),
  },
  { title: 'InboundAttachment' },
);

const Authentication = Type.Object(
  {
    spf: Type.Object({ result: oneOf(SPF_RESULTS), domain: NullableText }),
    dkim: Type.Array(
      Type.Object({ result: oneOf(DKIM_RESULTS), domain: NullableText, selector: NullableText }),
      { description: 'One entry for each signature.' },
    ),
    dmarc: Type.Object({
      result: oneOf(DMARC_RESULTS),
      policy: Type.Union([oneOf(DMARC_POLICIES), Type.Null()], {
        description: 'What the domain asks receivers to do with mail that fails.',
      }),
      domain: NullableText,
    }),
  },
  { title: 'InboundAuthentication' },
);

const InboundMessageFields = {
  id: id('inm', 'the inbound message'),
  mode: Mode,
  received_at: Time,
  domain: Type.String({ description: 'The receiving domain.' }),
  envelope: Type.Object(
    { from: Type.String(), to: Type.Array(Type.String()) },
    {
      description:
        'The sender and the recipients of the SMTP transaction. The sender is empty for bounces and automatic replies.',
    },
  ),
  from: Type.Union([Mailbox, Type.Null()], {
    description: 'The address in From. Anyone can write any address there: see `authentication`.',
  }),
  to: Type.Array(Mailbox, { description: 'At most 100, as in `cc` and `reply_to`.' }),
  cc: Type.Array(Mailbox),
  reply_to: Type.Array(Mailbox),
  subject: Type.String(),
  message_id: Type.Union([Type.String(), Type.Null()], {
    description: 'The `Message-ID` header, without angle brackets.',
  }),
  in_reply_to: Type.Union([Type.String(), Type.Null()], {
    description: 'The Message-ID that it answers, as its sender wrote it.',
  }),
  in_reply_to_message_id: Type.Union([id('msg', 'the message'), Type.Null()], {
    description:
      'The message of yours that it answers, found by `In-Reply-To` and `References`; null if there is none.',
  }),
  date: Type.Unsafe({
    ...NullableTime,
    description: 'The `Date` header. Its sender may have written any time.',
  }),
  size_bytes: Type.Integer(),
  attachments: Type.Array(Attachment, { description: 'The first 100.' }),
  authentication: Type.Union([Authentication, Type.Null()], {
    description:
      'What SPF, DKIM and DMARC say about the sender. Null for simulated messages. Messages are stored whatever the results are.',
  }),
};

export const InboundMessage = Type.Object(
  {
    ...InboundMessageFields,
    references: Type.Array(Type.String(), {
      description:
        'The Message-IDs in `References`, without angle brackets: the conversation up to here, the last 50.',
    }),
    text: Type.Union([Type.String(), Type.Null()], {
      description: 'Null if the mail has no plain text, or after the content has been deleted.',
    }),
    html: Type.Union([Type.String(), Type.Null()], {
      description:
        'As its sender wrote it, with scripts and remote images. Null if the mail has no HTML, or after the content has been deleted.',
    }),
    headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
      description: 'All of them in their order, decoded. Empty after the content has been deleted.',
    }),
  },
  { title: 'InboundMessage', examples: [{ ...INBOUND_MESSAGE, ...INBOUND_CONTENT }] },
);

export const InboundMessageSummary = Type.Object(InboundMessageFields, {
  title: 'InboundMessageSummary',
  examples: [INBOUND_MESSAGE],
});

const { attachments } = SendMessage.properties;

export const SimulateInboundMessage = closed(
  {
    from: withDescription(Address, 'The sender: any address.'),
    to: withDescription(Address, 'The recipient: any address at a domain of the workspace.'),
    subject: Type.String({ maxLength: 2000, examples: ['Re: Your order'] }),
    text: Type.Optional(Type.String({ description: 'The plain text.' })),
    html: Type.Optional(Type.String({ description: 'The HTML.' })),
    headers: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        ...Type.Record(Type.String(), Type.String()),
        description: 'Extra headers, and a `Message-ID` instead of a generated one.',
        examples: [{ 'Auto-Submitted': 'auto-replied' }],
      }),
    ),
    attachments,
    in_reply_to_message_id: Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'A message of test mode that this one answers: adds `In-Reply-To` and `References`.',
        examples: ['msg_01kc8x3f7ye6qvj2m4n5p6q7r8'],
      }),
    ),
  },
  { title: 'SimulateInboundMessage' },
);
