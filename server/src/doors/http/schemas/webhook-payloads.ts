import { type TSchema, Type } from 'typebox';
import { EVENT_TYPES, type EventType } from '../../../events/event-types.ts';
import { ApiKey } from './api-keys.ts';
import { id, Metadata, Mode, NullableTime, oneOf, Time } from './common.ts';
import { Bounce, SmtpAnswer } from './messages.ts';

/** The data of every event type, as the ledger, the feed and webhooks carry it. */

const About = {
  message_id: id('msg', 'the message'),
  metadata: Metadata,
  tags: Type.Array(Type.String()),
};

const OneRecipient = {
  ...About,
  recipient: Type.String(),
  attempt: Type.Integer({ description: 'Which try this was; 0 when none was made.' }),
};

const Suppression = Type.Object({
  id: id('sup', 'the suppression'),
  email: Type.Union([Type.String(), Type.Null()]),
  domain: Type.Union([Type.String(), Type.Null()]),
  reason: Type.String(),
});

const PAYLOADS: Record<EventType, { description: string; data: TSchema }> = {
  'message.accepted': {
    description: 'A message was accepted and is durable.',
    data: Type.Object({
      ...About,
      from: Type.String(),
      subject: Type.String(),
      scheduled_at: NullableTime,
      template: Type.Union([
        Type.Object({
          key: Type.String(),
          version: Type.Union([Type.Integer(), Type.Literal('draft')]),
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
    data: Type.Object({ ...OneRecipient, reason: Type.String() }),
  },
  'message.deferred': {
    description: 'The receiver did not take it for now; it will be tried again.',
    data: Type.Object({
      ...OneRecipient,
      bounce: Bounce,
      smtp: Type.Optional(SmtpAnswer),
      next_attempt_at: Time,
    }),
  },
  'message.delivered': {
    description: 'The receiver took responsibility for it.',
    data: Type.Object({ ...OneRecipient, smtp: SmtpAnswer }),
  },
  'message.bounced': {
    description: 'The receiver refused it for good, at once or by a bounce later.',
    data: Type.Object({ ...OneRecipient, bounce: Bounce, smtp: Type.Optional(SmtpAnswer) }),
  },
  'message.failed': {
    description: 'We cannot send it.',
    data: Type.Object({ ...OneRecipient, reason: Type.Optional(Type.String()) }),
  },
  'message.expired': {
    description: 'Its time ran out before a receiver took it.',
    data: Type.Object({
      ...OneRecipient,
      bounce: Type.Optional(Bounce),
      smtp: Type.Optional(SmtpAnswer),
    }),
  },
  'message.complained': {
    description: 'The recipient called it spam.',
    data: Type.Object(OneRecipient),
  },
  'message.opened': {
    description: 'The tracking image was loaded.',
    data: Type.Object({ ...OneRecipient, machine: Type.Boolean() }),
  },
  'message.clicked': {
    description: 'A tracked link was followed.',
    data: Type.Object({ ...OneRecipient, machine: Type.Boolean(), url: Type.String() }),
  },
  'domain.verified': {
    description: 'A domain’s records are all in place.',
    data: Type.Object({ domain: Type.Object({ id: Type.String(), name: Type.String() }) }),
  },
  'domain.degraded': {
    description: 'A record of a verified domain has vanished; sending stops if it stays away.',
    data: Type.Object({ domain: Type.Object({ id: Type.String(), name: Type.String() }) }),
  },
  'template.published': {
    description: 'A version of a template, layout or partial was published.',
    data: Type.Object({
      template: Type.Object({
        kind: Type.String(),
        key: Type.String(),
        version: Type.Integer(),
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
      webhook: Type.Object({ id: Type.String(), url: Type.String() }),
      reason: Type.String(),
    }),
  },
};

/** The `webhooks` part of the OpenAPI document. */
export function webhookDescriptions(
  named: (schema: TSchema) => Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    EVENT_TYPES.map((type) => {
      const { description, data } = PAYLOADS[type];
      const schema = Type.Object({
        id: id('evt', 'the event'),
        type: Type.Literal(type),
        api_version: Type.Literal('v1'),
        mode: Mode,
        created_at: Time,
        sequence: Type.Union([Type.Integer(), Type.Null()]),
        data,
      });
      const operation = {
        operationId: `on${type.replaceAll(/(^|[._])(\w)/g, (_, _dot, letter: string) => letter.toUpperCase())}`,
        tags: ['Webhooks'],
        summary: type,
        description,
        requestBody: { required: true, content: { 'application/json': { schema: named(schema) } } },
        responses: { '2XX': { description: 'Taken. Anything else is tried again later.' } },
      };
      return [type, { post: operation }];
    }),
  );
}
