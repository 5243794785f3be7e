import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { invalidFields } from '../../lib/refused-error.ts';

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html and _SendBulkEmail.html */

const Addresses = Type.Optional(Type.Array(Type.String()));

export const Destination = closed(
  { ToAddresses: Addresses, CcAddresses: Addresses, BccAddresses: Addresses },
  { title: 'SesDestination' },
);

/** The charset only says how SES would encode the text; here it is always UTF-8. */
const Content = closed({ Data: Type.String(), Charset: Type.Optional(Type.String()) });

const NameValues = Type.Optional(
  Type.Array(closed({ Name: Type.String(), Value: Type.String() }), { maxItems: 100 }),
);

const Attachments = Type.Optional(
  Type.Array(
    closed({
      RawContent: Type.String({ description: 'Base64-encoded content.' }),
      FileName: Type.String(),
      ContentType: Type.Optional(Type.String()),
      ContentId: Type.Optional(Type.String()),
      ContentDisposition: Type.Optional(oneOf(['ATTACHMENT', 'INLINE'] as const)),
      // How SES would encode the file; here it is always base64.
      ContentTransferEncoding: Type.Optional(
        oneOf(['BASE64', 'QUOTED_PRINTABLE', 'SEVEN_BIT'] as const),
      ),
      ContentDescription: Type.Optional(Type.Unknown()),
    }),
    { maxItems: 100 },
  ),
);

export const TemplateContent = closed(
  {
    Subject: Type.Optional(Type.String()),
    Html: Type.Optional(Type.String()),
    Text: Type.Optional(Type.String()),
  },
  { title: 'SesTemplateContent' },
);

export const Template = closed(
  {
    TemplateName: Type.Optional(Type.String({ description: 'The key of a published template.' })),
    TemplateContent: Type.Optional(TemplateContent),
    TemplateData: Type.Optional(Type.String({ description: 'A JSON object as text.' })),
    Headers: NameValues,
    Attachments,
    TemplateArn: Type.Optional(Type.Unknown()),
  },
  { title: 'SesTemplate' },
);

const UNSUPPORTED = {
  FromEmailAddressIdentityArn: 'Use an API key of the workspace that owns the sender domain.',
  FeedbackForwardingEmailAddressIdentityArn:
    'Bounces and complaints are events; receive them by webhook.',
  EndpointId: 'There is one endpoint.',
  TenantName: 'Tenants are workspaces, each with its own credentials.',
  ConfigurationOverrides: 'Omit it.',
} as const;

const ListManagement = closed(
  { ContactListName: Type.String(), TopicName: Type.Optional(Type.String()) },
  {
    title: 'SesListManagementOptions',
    description:
      'The stream of the message: its key is the topic, or else the list, in lower case.',
  },
);

const UNSUPPORTED_NAMES = Object.keys(UNSUPPORTED) as (keyof typeof UNSUPPORTED)[];

const COMMON = {
  FromEmailAddress: Type.Optional(Type.String()),
  ReplyToAddresses: Addresses,
  FeedbackForwardingEmailAddress: Type.Optional(
    Type.String({ description: 'Ignored: bounces and complaints are events.' }),
  ),
  ConfigurationSetName: Type.Optional(Type.String({ description: 'Becomes a tag.' })),
  ListManagementOptions: Type.Optional(ListManagement),
  ...(Object.fromEntries(
    Object.keys(UNSUPPORTED).map((name) => [name, Type.Optional(Type.Unknown())]),
  ) as Record<
    keyof typeof UNSUPPORTED,
    ReturnType<typeof Type.Optional<ReturnType<typeof Type.Unknown>>>
  >),
};

export const SendEmail = closed(
  {
    ...COMMON,
    Destination: Type.Optional(Destination),
    Content: closed({
      Simple: Type.Optional(
        closed({
          Subject: Content,
          Body: closed({ Html: Type.Optional(Content), Text: Type.Optional(Content) }),
          Headers: NameValues,
          Attachments,
        }),
      ),
      Raw: Type.Optional(
        closed({ Data: Type.String({ description: 'The whole MIME message, Base64-encoded.' }) }),
      ),
      Template: Type.Optional(Template),
    }),
    EmailTags: NameValues,
  },
  { title: 'SesSendEmail' },
);

const BulkEntry = closed(
  {
    Destination,
    ReplacementTags: NameValues,
    ReplacementHeaders: NameValues,
    ReplacementEmailContent: Type.Optional(
      closed({
        ReplacementTemplate: Type.Optional(
          closed({ ReplacementTemplateData: Type.Optional(Type.String()) }),
        ),
      }),
    ),
  },
  { title: 'SesBulkEntry' },
);

export const SendBulkEmail = closed(
  {
    ...COMMON,
    DefaultContent: closed({ Template }),
    DefaultEmailTags: NameValues,
    BulkEmailEntries: Type.Array(BulkEntry, { minItems: 1, maxItems: 500 }),
  },
  { title: 'SesSendBulkEmail' },
);

export type SendEmail = Static<typeof SendEmail>;
export type SendBulkEmail = Static<typeof SendBulkEmail>;
export type Destination = Static<typeof Destination>;
export type Template = Static<typeof Template>;
export type Attachment = NonNullable<Template['Attachments']>[number];
export type NameValue = NonNullable<Template['Headers']>[number];

/** Refuses by name what has no equivalent. */
export function refuseUnsupported(email: Partial<Record<keyof typeof UNSUPPORTED, unknown>>): void {
  let isSupported = true;
  for (const name in email) if (Object.hasOwn(UNSUPPORTED, name)) isSupported = false;
  if (isSupported) return;
  const found = UNSUPPORTED_NAMES.filter((name) => email[name] !== undefined);
  throw invalidFields(
    found.map((name) => unsupported(`/${name}`, `${name} is not supported. ${UNSUPPORTED[name]}`)),
  );
}

export function unsupported(pointer: string, detail: string) {
  return { pointer, code: 'unsupported', detail };
}
