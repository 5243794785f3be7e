import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';

/** The body of https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send */

const Address = closed({ email: Type.String(), name: Type.Optional(Type.String()) });
const Addresses = (min: number) => Type.Array(Address, { minItems: min, maxItems: 1000 });
const Texts = Type.Record(Type.String(), Type.String());
const UnixTime = Type.Integer({ minimum: 0, description: 'In seconds. A past time means now.' });

/** A setting that is not offered, so that it can only be disabled. */
const Disabled = Type.Object({ enable: Type.Optional(Type.Literal(false)) });

const Personalization = closed(
  {
    to: Addresses(1),
    cc: Type.Optional(Addresses(0)),
    bcc: Type.Optional(Addresses(0)),
    from: Type.Optional(Address),
    subject: Type.Optional(Type.String()),
    headers: Type.Optional(Texts),
    substitutions: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Texts to replace in the subject, the content and the reply addresses, each with its value.',
      }),
    ),
    dynamic_template_data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    custom_args: Type.Optional(Texts),
    send_at: Type.Optional(UnixTime),
  },
  { title: 'SendGridPersonalization' },
);

const MailSettings = closed({
  sandbox_mode: Type.Optional(
    closed(
      { enable: Type.Optional(Type.Boolean()) },
      { description: 'Validates the mail and sends nothing.' },
    ),
  ),
  bcc: Type.Optional(Disabled),
  bypass_bounce_management: Type.Optional(Disabled),
  bypass_list_management: Type.Optional(Disabled),
  bypass_spam_management: Type.Optional(Disabled),
  bypass_unsubscribe_management: Type.Optional(Disabled),
  footer: Type.Optional(Disabled),
  spam_check: Type.Optional(Disabled),
});

const TrackingSettings = closed({
  click_tracking: Type.Optional(
    closed({
      enable: Type.Optional(Type.Boolean()),
      enable_text: Type.Optional(Type.Literal(false)),
    }),
  ),
  open_tracking: Type.Optional(closed({ enable: Type.Optional(Type.Boolean()) })),
  ganalytics: Type.Optional(Disabled),
  subscription_tracking: Type.Optional(Disabled),
});

export const Mail = closed(
  {
    personalizations: Type.Array(Personalization, {
      minItems: 1,
      description: 'Each is a message of its own.',
    }),
    from: Type.Optional(Address),
    reply_to: Type.Optional(Address),
    reply_to_list: Type.Optional(Type.Array(Address)),
    subject: Type.Optional(Type.String()),
    content: Type.Optional(
      Type.Array(
        closed({ type: oneOf(['text/plain', 'text/html'] as const), value: Type.String() }),
        { minItems: 1, maxItems: 2 },
      ),
    ),
    template_id: Type.Optional(
      Type.String({ description: 'The key of a published template, such as `d-welcome`.' }),
    ),
    attachments: Type.Optional(
      Type.Array(
        closed({
          content: Type.String(),
          filename: Type.String(),
          type: Type.Optional(Type.String()),
          disposition: Type.Optional(oneOf(['attachment', 'inline'] as const)),
          content_id: Type.Optional(Type.String()),
          // The name in the types of the client library, which sends it unchanged.
          contentId: Type.Optional(Type.String()),
          // As Medusa writes `type` and `content_id`; SendGrid ignores both.
          content_type: Type.Optional(Type.String()),
          id: Type.Optional(Type.String()),
        }),
      ),
    ),
    headers: Type.Optional(Texts),
    categories: Type.Optional(Type.Array(Type.String(), { description: 'Become tags.' })),
    custom_args: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Become metadata.' }),
    ),
    send_at: Type.Optional(UnixTime),
    asm: Type.Optional(
      closed({
        group_id: Type.Integer({
          minimum: 0,
          description: 'A stream whose key is this number, such as `12345`.',
        }),
      }),
    ),
    batch_id: Type.Optional(Type.String()),
    mail_settings: Type.Optional(MailSettings),
    tracking_settings: Type.Optional(TrackingSettings),
  },
  { title: 'SendGridMail' },
);

export type Mail = Static<typeof Mail>;
export type Personalization = Static<typeof Personalization>;
