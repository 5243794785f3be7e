import { type Static, Type } from 'typebox';
import { closed, withDescription } from '../../lib/schema-builders.ts';
import { STREAM_KEY_PATTERN } from '../../streams/stream-source.ts';
import { RESERVED_TAGS } from '../system-tag.ts';
import { METADATA_PAIRS_MAX, TAG_LENGTH_MAX, TAGS_MAX } from './send-limits.ts';

/**
 * A send: the schema of its body, which validates and documents it, and the type that follows from
 * the schema. A new field starts here.
 */

const Email = Type.String({
  format: 'email',
  maxLength: 320,
  description: 'An RFC 5321 mailbox. Internationalized domains are converted to A-labels.',
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
      description: 'An RFC 5321 mailbox after its placeholders are replaced.',
      examples: ['support+${ticket.id}@example.com'],
    }),
    name: Type.Optional(Type.String({ maxLength: 320, examples: ['Support'] })),
  },
  { title: 'ReplyAddress' },
);

export const Variables = Type.Record(Type.String(), Type.Unknown(), {
  examples: [{ first_name: 'Jane' }],
});

export const Locale = Type.String({
  pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$',
  maxLength: 64,
  description: 'Selects the locale variant of the template: `de-AT`, then `de`, then the default.',
  examples: ['de-AT'],
});

export const TimeZone = Type.String({
  maxLength: 64,
  description: 'An IANA time zone name for the date filter. Default: UTC.',
  examples: ['Europe/Vienna'],
});

export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: 1024 }), {
  maxProperties: METADATA_PAIRS_MAX,
  // TypeBox ignores limits of the key type.
  propertyNames: { minLength: 1, maxLength: 64 },
  description:
    'Up to 20 string pairs of your own, with names of up to 64 characters. Returned everywhere, ' +
    'never sent to recipients.',
  examples: [{ order_id: '1234' }],
});

/**
 * As wide as the tags and categories of other providers, but without control characters and outer
 * spaces: tags are shown, searched and written in URLs. The pattern is portable and linear.
 */
export const Tag = Type.String({
  minLength: 1,
  maxLength: TAG_LENGTH_MAX,
  pattern: '^[^\\x00-\\x20\\x7F-\\x9F]([^\\x00-\\x1F\\x7F-\\x9F]*[^\\x00-\\x20\\x7F-\\x9F])?$',
  not: { type: 'string', pattern: RESERVED_TAGS },
  description:
    'Printable characters, without a space at the beginning or end. `postrider:` is reserved.',
  examples: ['welcome'],
});

/** The highest value that an operator can allow; `GET /limits` returns the effective limit. */
const RECIPIENTS_MAX = 1000;

export const SendMessage = closed(
  {
    to: Type.Optional(
      Type.Union([Address, Type.Array(Address, { minItems: 1, maxItems: RECIPIENTS_MAX })], {
        description:
          'The recipient, or a list of recipients who all see each other. Required unless `cc` or ' +
          '`bcc` names one.',
      }),
    ),
    from: Type.Optional(
      withDescription(
        Address,
        'The sender, on one of your domains. A template or the stream can provide a default.',
      ),
    ),
    cc: Type.Optional(
      Type.Array(Address, {
        maxItems: RECIPIENTS_MAX,
        description: 'Additional recipients, visible to all.',
      }),
    ),
    bcc: Type.Optional(
      Type.Array(Address, {
        maxItems: RECIPIENTS_MAX,
        description: 'Additional recipients, hidden from all others.',
      }),
    ),
    reply_to: Type.Optional(
      Type.Union([ReplyAddress, Type.Array(ReplyAddress, { minItems: 1, maxItems: 10 })], {
        description: 'Where replies go, if not to the sender. Can contain placeholders.',
      }),
    ),
    subject: Type.Optional(
      Type.String({
        maxLength: 2000,
        description:
          'A single line, which may be empty. Can contain `${name}` and `{{ path }}` placeholders; line breaks in values become spaces.',
        examples: ['Welcome, ${first_name}'],
      }),
    ),
    html: Type.Optional(
      Type.String({
        description:
          'Values are HTML-escaped; `{{ path | raw }}` opts out. Omit it for a text-only message. A message whose `html` and `text` are both empty is refused, unless it has attachments.',
        examples: ['<p>Hello {{ contact.first_name | default: "there" }}</p>'],
      }),
    ),
    text: Type.Optional(Type.String({ description: 'Generated from `html` if omitted.' })),
    variables: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        ...Variables,
        description: 'Values for the placeholders of inline content.',
      }),
    ),
    placeholders: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'With `false`, inline content is sent verbatim: `${`, `{{` and `{%` have no meaning. ' +
          'For content that you rendered yourself.',
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
          'A published version, or `"draft"` with a test key. Default: the published version.',
      }),
    ),
    inline_css: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'With `false`, the style sheets of the template are not copied into `style` attributes.',
      }),
    ),
    locale: Type.Optional(Locale),
    time_zone: Type.Optional(TimeZone),
    stream: Type.Optional(
      Type.String({
        pattern: STREAM_KEY_PATTERN,
        description:
          'The stream that the message belongs to. Default: that of the template, or else of the ' +
          'API key, or else `transactional`.',
        examples: ['weekly-digest'],
      }),
    ),
    attachments: Type.Optional(
      Type.Array(
        closed({
          filename: Type.String({ minLength: 1, maxLength: 255, examples: ['invoice.pdf'] }),
          content: Type.String({
            description: 'Base64-encoded content.',
            examples: ['JVBERi0xLjQK'],
          }),
          content_type: Type.Optional(
            Type.String({
              maxLength: 512,
              description:
                'Default: the type that the extension of `filename` stands for, or else that of a ' +
                'PNG, JPEG, GIF, WebP or SVG image by its content, or else ' +
                '`application/octet-stream`.',
              examples: ['application/pdf'],
            }),
          ),
          content_id: Type.Optional(
            Type.String({
              maxLength: 256,
              description: 'Makes it an inline image: `cid:logo`. Unique in the message.',
            }),
          ),
        }),
        { maxItems: 100, description: 'Files, and images shown in the HTML.' },
      ),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Extra headers. Structural headers (From, To, Date, Content-…) are rejected, except for ' +
          '`Message-ID`: your own, such as `<order-1234@example.com>`, must be unique in the ' +
          'workspace.',
        examples: [{ 'X-Campaign': 'spring' }],
      }),
    ),
    metadata: Type.Optional(Metadata),
    tags: Type.Optional(
      Type.Array(Tag, { maxItems: TAGS_MAX, description: 'For filtering and statistics.' }),
    ),
    tracking: Type.Optional(
      closed(
        {
          opens: Type.Optional(Type.Boolean()),
          clicks: Type.Optional(Type.Boolean()),
        },
        {
          description:
            'Whether opens and clicks are tracked. Default: the setting of the stream, or else of the ' +
            'domain. Messages to several recipients and messages with secret values are never tracked.',
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
        description:
          'How long to try: for example, a one-time code is worthless after ten minutes.',
      }),
    ),
  },
  { title: 'SendMessage' },
);

/**
 * A send as every listener passes it on: its shape is valid, its values are not checked yet. Mail
 * received over SMTP may have an empty `to`, when all recipients are `bcc`.
 */
export interface SendRequest extends Omit<Static<typeof SendMessage>, 'headers'> {
  /** The API takes each name once. Mail received over SMTP may repeat one, so it passes a list. */
  headers?: Record<string, string> | [string, string][];
  /**
   * Names of `variables` that contain secrets. This is not a field of the API: it is for system
   * emails, whose links would let anyone who sees them sign in as the recipient.
   */
  secret_variables?: readonly string[];
}

export type AddressInput = Static<typeof Address>;
export type AttachmentInput = NonNullable<SendRequest['attachments']>[number];
