import { type TSchema, Type } from 'typebox';
import { DOMAIN_STATUSES } from '../../../domains/domain.ts';
import { EVENT_TYPES, type EventType } from '../../../events/event-types.ts';
import { ALARM_KINDS } from '../../../stats/alarm-store.ts';
import type { ComponentSchemas } from '../../openapi/component-schemas.ts';
import { exampleOf } from '../../openapi/schema-example.ts';
import { id, Metadata, Mode, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { ApiKey } from '../api-keys/schemas.ts';
import { MissingRecord } from '../domains/schemas.ts';
import { ACCEPTED_MESSAGE, BOUNCE_REPLY } from '../messages/examples.ts';
import { Bounce, SmtpReply } from '../messages/schemas.ts';
import { Suppression } from '../suppressions/schemas.ts';

/** The data of every event type, as the ledger, the feed and webhooks carry it. */

const About = {
  message_id: id('msg', 'the message'),
  metadata: Metadata,
  tags: Type.Array(Type.String(), { examples: [['welcome']] }),
};

const OneRecipient = {
  ...About,
  recipient: Type.String({ examples: ['jane@example.com'] }),
  attempt: Type.Integer({ description: 'Which try this was; 0 when none was made.' }),
};

const Machine = Type.Boolean({
  description:
    'Probably no person: a scanner, a preview, a mail program that loads images beforehand.',
});

const Domain = Type.Object({
  id: id('dom', 'the domain'),
  name: Type.String({ examples: ['yourdomain.com'] }),
  status: oneOf(DOMAIN_STATUSES),
});

const DOMAIN = (status: string) => ({
  id: 'dom_01kc8x3f7ye6qvj2m4n5p6q7r8',
  name: 'yourdomain.com',
  status,
});

/** A receiver’s no: the last word there was, when there was one. */
const Refusal = {
  bounce: Bounce,
  smtp: Type.Optional(Type.Unsafe({ ...SmtpReply, examples: [BOUNCE_REPLY] })),
};

const Deferral = {
  bounce: Type.Unsafe({
    ...Bounce,
    examples: [
      { class: 'soft', reason: 'greylisted', explanation: 'The receiver asks to come again.' },
    ],
  }),
  smtp: Type.Optional(
    Type.Unsafe({
      ...SmtpReply,
      examples: [{ ...BOUNCE_REPLY, code: 451, enhanced: '4.7.1', text: 'Try again later' }],
    }),
  ),
};

/** Where the word came by mail, later than the delivery. */
const REPORT = {
  id: '5f0c3a1e9b7d4c2a8e6f1b3d5a7c9e0f',
  reported_by: 'mx1.example.com',
};

const Report = (
  examples: object,
  more: Record<string, TSchema>,
): Record<'report', ReturnType<typeof Type.Optional>> => ({
  report: Type.Optional(
    Type.Object(
      {
        id: Type.String({
          description: 'The same for the same report, however often it arrives.',
        }),
        reported_by: Type.Union([Type.String(), Type.Null()], {
          description: 'The server or program that wrote it, as it calls itself.',
        }),
        ...more,
      },
      {
        description: 'The mail that told it. Absent when the receiver said it on the wire.',
        examples: [{ ...REPORT, ...examples }],
      },
    ),
  ),
});

const BounceReport = Report(
  { remote_mta: 'mailbox7.example.com', previous_status: 'delivered' },
  {
    remote_mta: Type.Union([Type.String(), Type.Null()], {
      description: 'The server that refused, when it was another one.',
    }),
    previous_status: Type.Optional(
      oneOf(['delivered', 'deferred'], {
        description:
          'What the recipient was before: `deferred` when the receiver had taken the message without an answer to us.',
      }),
    ),
  },
);

const ComplaintReport = Report(
  { reported_by: 'Provider-Feedback/1.0', feedback_type: 'abuse' },
  { feedback_type: Type.String({ description: 'RFC 5965’s word for it.' }) },
);

const Alarm = Type.Object({
  kind: oneOf(ALARM_KINDS),
  subject: Type.Union([Type.String(), Type.Null()], {
    description:
      'The domain, the endpoint’s or the key’s id; null when it is about the whole workspace.',
    examples: ['yourdomain.com'],
  }),
  value: Type.Union([Type.Number(), Type.Null()], {
    description:
      'A share from 0 to 1 for rates, seconds for times, missing records for a domain; null when ' +
      'there is nothing left to measure.',
    examples: [0.08],
  }),
  threshold: Type.Number({ examples: [0.05] }),
  raised_at: Time,
  explanation: Type.String({ examples: ['Too much of what yourdomain.com sends bounces.'] }),
});

const PAYLOADS: Record<EventType, { description: string; data: TSchema }> = {
  'message.accepted': {
    description: 'A message was accepted and is durable.',
    data: Type.Object({
      ...About,
      from: Type.String({ examples: ['hello@yourdomain.com'] }),
      subject: Type.String({ examples: ['Welcome, Jane'] }),
      scheduled_at: Type.Unsafe({ ...NullableTime, examples: [null] }),
      template: Type.Union([
        Type.Object({
          key: Type.String({ examples: ['welcome'] }),
          version: Type.Union([Type.Integer({ examples: [3] }), Type.Literal('draft')]),
        }),
        Type.Null(),
      ]),
      recipients: Type.Array(
        Type.Object({
          email: Type.String(),
          kind: oneOf(['to', 'cc', 'bcc'] as const),
          status: Type.String(),
          reason: Type.Optional(Type.String()),
        }),
        { examples: [ACCEPTED_MESSAGE.recipients] },
      ),
    }),
  },
  'message.scheduled': {
    description: 'The message waits for its time.',
    data: Type.Object({ ...About, scheduled_at: Time }),
  },
  'message.rescheduled': {
    description: 'The message waits for another time.',
    data: Type.Object({ ...About, scheduled_at: Time }),
  },
  'message.cancelled': {
    description: 'A recipient’s delivery was cancelled before it left.',
    data: Type.Object(OneRecipient),
  },
  'message.suppressed': {
    description: 'A recipient is on the suppression list and was not contacted.',
    data: Type.Object({ ...OneRecipient, reason: Type.String({ examples: ['hard_bounce'] }) }),
  },
  'message.deferred': {
    description: 'The receiver did not take it for now; it will be tried again.',
    data: Type.Object({
      ...OneRecipient,
      ...Deferral,
      next_attempt_at: Type.Unsafe<string>({
        ...Time,
        description: 'The next try, or the end of its time when that comes first.',
      }),
    }),
  },
  'message.delivered': {
    description: 'The receiver took responsibility for it.',
    data: Type.Object({ ...OneRecipient, smtp: SmtpReply }),
  },
  'message.bounced': {
    description:
      'The receiver refused it for good: at once, or by a report that came back later, also after ' +
      '`message.delivered`. Then `report` is there, and `smtp` holds the words of the report.',
    data: Type.Object({ ...OneRecipient, ...Refusal, ...BounceReport }),
  },
  'message.failed': {
    description: 'We cannot send it.',
    data: Type.Object({
      ...OneRecipient,
      reason: Type.Optional(Type.String({ examples: ['domain_not_verified'] })),
    }),
  },
  'message.expired': {
    description: 'Its time ran out before a receiver took it.',
    data: Type.Object({
      ...OneRecipient,
      bounce: Type.Optional(Deferral.bounce),
      smtp: Deferral.smtp,
    }),
  },
  'message.complained': {
    description: 'The recipient called it spam. `smtp` is the answer with which it had been taken.',
    data: Type.Object({
      ...OneRecipient,
      smtp: Type.Optional(SmtpReply),
      ...ComplaintReport,
    }),
  },
  'message.opened': {
    description:
      'The image of a tracked message was loaded. Told the first time for people, and for machines.',
    data: Type.Object({ ...OneRecipient, machine: Machine }),
  },
  'message.clicked': {
    description:
      'A link of a tracked message was followed. Told the first time for each link, for people and ' +
      'for machines.',
    data: Type.Object({
      ...OneRecipient,
      machine: Machine,
      url: Type.String({ examples: ['https://yourdomain.com/welcome'] }),
      first: Type.Boolean({ description: 'No other link of the message was followed before.' }),
    }),
  },
  'domain.verified': {
    description:
      'A domain’s records are all in place, for the first time or again, and it may send.',
    data: Type.Object({ domain: Type.Unsafe({ ...Domain, examples: [DOMAIN('verified')] }) }),
  },
  'domain.degraded': {
    description:
      'A record of a verified domain has vanished. With the status `degraded` the domain sends on ' +
      'until `sending_stops_at`; told once more with the status `failed` when sending stops.',
    data: Type.Object({
      domain: Type.Unsafe({ ...Domain, examples: [DOMAIN('degraded')] }),
      sending_stops_at: NullableTime,
      records: Type.Array(MissingRecord),
    }),
  },
  'domain.claimed': {
    description:
      'Another workspace of this server verified the same domain, or one below it, by a token of ' +
      'its own in the DNS. If you did not publish that token, look who can change your zone.',
    data: Type.Object({
      domain: Type.Unsafe({ ...Domain, examples: [DOMAIN('verified')] }),
      claimed_name: Type.String({ examples: ['news.yourdomain.com'] }),
    }),
  },
  'template.published': {
    description: 'A version of a template, layout or partial was published.',
    data: Type.Object({
      template: Type.Object({
        kind: Type.String({ examples: ['template'] }),
        key: Type.String({ examples: ['welcome'] }),
        version: Type.Integer({ examples: [3] }),
      }),
    }),
  },
  'suppression.created': {
    description: 'An address or domain will not be written to any more.',
    data: Type.Object({ suppression: Suppression }),
  },
  'suppression.deleted': {
    description: 'An address or domain may be written to again.',
    data: Type.Object({ suppression: Suppression }),
  },
  'api_key.created': { description: 'A key was made.', data: Type.Object({ api_key: ApiKey }) },
  'api_key.rotated': {
    description: 'A key got a new secret.',
    data: Type.Object({ api_key: ApiKey }),
  },
  'api_key.expiring': {
    description: 'A key runs out within seven days.',
    data: Type.Object({ api_key: ApiKey }),
  },
  'api_key.revoked': { description: 'A key was revoked.', data: Type.Object({ api_key: ApiKey }) },
  'webhook.disabled': {
    description: 'A webhook endpoint was switched off, and why.',
    data: Type.Object({
      webhook: Type.Object({
        id: id('whk', 'the endpoint'),
        url: Type.String({ examples: ['https://yourdomain.com/hooks/mail'] }),
      }),
      reason: Type.String({
        description: '`gone`: it answered 410. `failing`: nothing was delivered for five days.',
        examples: ['gone'],
      }),
      explanation: Type.String({
        examples: ['The endpoint responded with 410 Gone.'],
      }),
    }),
  },
  'alarm.raised': {
    description: 'A figure went over a threshold that the operator has set; told once an episode.',
    data: Type.Object({ alarm: Alarm }),
  },
  'alarm.cleared': {
    description: 'An alarm is over.',
    data: Type.Object({ alarm: Alarm }),
  },
};

/** The data of an event of this type, as a sample. */
export function sampleData(type: EventType): object {
  return exampleOf(PAYLOADS[type].data) as object;
}

/** Standard Webhooks: what a receiver needs to know that it is us, and that it is new. */
const SIGNED_HEADERS = [
  ['webhook-id', 'The id of the event, the same at every try: use it to drop repeats.'],
  ['webhook-timestamp', 'When this try was made, in seconds since 1970: refuse old ones.'],
  ['webhook-signature', '`v1,` and the signature in Base64; several while a secret rotates.'],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}));

/** The `webhooks` part of the OpenAPI document. */
export function webhookDescriptions(named: ComponentSchemas): Record<string, unknown> {
  return Object.fromEntries(
    EVENT_TYPES.map((type) => {
      const { description, data } = PAYLOADS[type];
      const schema = Type.Object({
        id: id('evt', 'the event'),
        type: Type.Literal(type),
        api_version: Type.Literal('v1'),
        mode: Mode,
        created_at: Time,
        sequence: Type.Union([Type.Integer(), Type.Null()], {
          examples: [type.startsWith('message.') ? 1 : null],
        }),
        data,
      });
      const operation = {
        operationId: `on${type.replaceAll(/(^|[._])(\w)/g, (_, _dot, letter: string) => letter.toUpperCase())}`,
        tags: ['Webhooks'],
        summary: type,
        description,
        parameters: SIGNED_HEADERS,
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: named.refer(schema), example: exampleOf(schema) },
          },
        },
        responses: { '2XX': { description: 'Taken. Anything else is tried again later.' } },
      };
      return [type, { post: operation }];
    }),
  );
}
