import { Type } from 'typebox';
import { ATTRIBUTES_BYTES_MAX, NAME_CHARACTERS_MAX } from '../../../contacts/contact-fields.ts';
import { SUBSCRIPTION_SOURCES } from '../../../contacts/contact-subscriptions.ts';
import { exampleOf } from '../../openapi/schema-example.ts';
import { closed, id, Mode, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';

const Email = Type.String({ format: 'email', maxLength: 320, examples: ['jane@example.com'] });

const Name = Type.Union([Type.String({ maxLength: NAME_CHARACTERS_MAX }), Type.Null()]);

const Attributes = Type.Record(Type.String(), Type.Unknown(), {
  description: `Any further data as JSON, at most ${ATTRIBUTES_BYTES_MAX / 1024} KiB. Placeholders read it as \`contact.<name>\`.`,
  examples: [{ plan: 'pro', address: { city: 'Vienna' } }],
});

const SubscriptionStatus = oneOf(['subscribed', 'unsubscribed'] as const);

const GivenSubscriptions = Type.Record(
  Type.String(),
  Type.Union([
    SubscriptionStatus,
    closed({
      status: SubscriptionStatus,
      changed_at: Type.Optional(
        Type.Unsafe<string>({ ...Time, description: 'When the contact chose it. Default: now.' }),
      ),
    }),
  ]),
  {
    description:
      'By the key of a subscription stream. Streams that are not named stay as they are. ' +
      '`unsubscribed` adds a suppression in this stream; `subscribed` removes it, but not one after ' +
      'a complaint.',
    examples: [{ 'weekly-digest': 'subscribed' }],
  },
);

const Changeable = {
  first_name: Type.Optional(Name),
  last_name: Type.Optional(Name),
  locale: Type.Optional(
    Type.Union([Type.String({ maxLength: 35 }), Type.Null()], {
      description: 'A BCP 47 language tag.',
      examples: ['de-AT'],
    }),
  ),
  attributes: Type.Optional(
    Type.Union([Attributes, Type.Null()], {
      description:
        'Sets each given name, or removes it with null; other names are kept. Null instead of an object removes all.',
    }),
  ),
  subscriptions: Type.Optional(GivenSubscriptions),
};

export const CreateContact = closed({ email: Email, ...Changeable }, { title: 'CreateContact' });

export const UpdateContact = closed(
  { email: Type.Optional(Email), ...Changeable },
  { title: 'UpdateContact', minProperties: 1 },
);

export const UpsertContact = closed(Changeable, { title: 'UpsertContact' });

const SUBSCRIPTION = {
  status: 'subscribed',
  changed_at: '2026-11-15T09:30:00.000Z',
  source: 'api',
};

const ContactSubscription = Type.Object(
  {
    status: SubscriptionStatus,
    changed_at: Time,
    source: Type.Union([oneOf(SUBSCRIPTION_SOURCES), Type.Null()], {
      description:
        '`page`: our page. `one_click`: the button of an email client (RFC 8058). `mail`: an email ' +
        'to the address for unsubscribing. `complaint`: the recipient marked mail of the stream as ' +
        'spam. Null: a suppression that was added directly, or before the contact.',
    }),
  },
  { title: 'ContactSubscription', examples: [SUBSCRIPTION] },
);

function nullableText(example: string) {
  return Type.Union([Type.String(), Type.Null()], { examples: [example] });
}

export const Contact = Type.Object(
  {
    id: id('ctc', 'the contact'),
    email: Type.String({ examples: ['jane@example.com'] }),
    first_name: nullableText('Jane'),
    last_name: nullableText('Doe'),
    locale: nullableText('en-GB'),
    attributes: Attributes,
    subscriptions: Type.Record(Type.String(), ContactSubscription, {
      description:
        'By the key of a subscription stream. Streams about which nothing is known are missing: ' +
        'mail in them is delivered, but no consent is recorded.',
      examples: [{ 'weekly-digest': SUBSCRIPTION }],
    }),
    mode: Mode,
    created_at: Time,
    updated_at: Time,
  },
  { title: 'Contact' },
);

export const CONTACT_EXAMPLE = {
  email: 'jane@example.com',
  first_name: 'Jane',
  last_name: 'Doe',
  locale: 'en-GB',
  attributes: { plan: 'pro', address: { city: 'Vienna' } },
};

/** Looked up, not validated: a value that is neither is simply not found. */
export const ContactPath = Type.Object({
  email: Type.String({
    description: 'The address or id of the contact.',
    examples: ['jane@example.com'],
  }),
});

const count = (example: number) => Type.Integer({ minimum: 0, examples: [example] });

const ImportFields = {
  id: id('imp', 'the import'),
  status: oneOf(['queued', 'running', 'finished', 'failed'] as const, {
    examples: ['finished'],
    description: '`failed`: an internal error occurred. The counted lines are done.',
  }),
  mode: Mode,
  format: oneOf(['ndjson', 'csv'] as const),
  bytes_total: count(48_211),
  bytes_done: count(48_211),
  lines: Type.Integer({
    description: 'Processed lines of the file, including the header.',
    examples: [501],
  }),
  created: count(480),
  updated: count(19),
  unchanged: count(0),
  failed: count(1),
  created_at: Time,
  finished_at: NullableTime,
};

export const ContactImport = Type.Object(ImportFields, { title: 'ContactImport' });

export const QUEUED_IMPORT = {
  ...(exampleOf(ContactImport) as object),
  status: 'queued',
  bytes_done: 0,
  lines: 0,
  created: 0,
  updated: 0,
  failed: 0,
  finished_at: null,
};

export const ContactImportReport = Type.Object(
  {
    ...ImportFields,
    failures: Type.Array(
      Type.Object(
        {
          line: Type.Integer({ minimum: 1, description: 'The line in the file, counted from 1.' }),
          field: Type.Union([Type.String(), Type.Null()], {
            description: 'JSON Pointer to the field, or null for the whole line.',
          }),
          code: Type.String(),
          detail: Type.String(),
        },
        {
          title: 'ContactImportFailure',
          examples: [
            {
              line: 17,
              field: '/email',
              code: 'invalid_email',
              detail: 'This is not a valid email address.',
            },
          ],
        },
      ),
      { description: 'A page of the failed lines, in file order.' },
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Null if no further lines have failed so far.',
      examples: [null],
    }),
  },
  { title: 'ContactImportReport' },
);

export const Erasure = Type.Object(
  {
    status: oneOf(['finished', 'running'] as const),
    contacts: Type.Integer({ minimum: 0, description: 'Deleted contacts: 1 or 0.' }),
    messages: Type.Integer({
      minimum: 0,
      description: 'Messages from which the address was removed.',
    }),
    attempts: Type.Integer({ minimum: 0 }),
    events: Type.Integer({ minimum: 0 }),
  },
  { title: 'Erasure' },
);
