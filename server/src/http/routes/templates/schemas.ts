import { type TSchema, Type } from 'typebox';
import { Address, ReplyAddress } from '../../../messages/accept/send-request.ts';
import type { ContentKind } from '../../../templates/content/stored-content.ts';
import { KEY_PATTERN } from '../../../templates/template-fields.ts';
import { VARIABLE_TYPES } from '../../../templates/variables/parse-variables.ts';
import { closed, id, NullableTime, oneOf, page, Time } from '../../openapi/shared-schemas.ts';
import { StreamKey } from '../streams/schemas.ts';
import { LAYOUT, PARTIAL, TEMPLATE, VERSION } from './examples.ts';

const NullableText = Type.Union([Type.String(), Type.Null()]);

const Key = Type.String({
  pattern: KEY_PATTERN,
  description: 'A stable, readable key that identifies it in sends.',
  examples: ['welcome'],
});

const Subject = Type.Unsafe<string | null>({
  ...NullableText,
  description: 'Can contain `${name}` and `{{ path }}` placeholders.',
});
const Html = Type.Unsafe<string | null>({
  ...NullableText,
  description:
    'Values are HTML-escaped. CSS is inlined when the template is sent, unless the send sets `inline_css` to false.',
});
const Text = Type.Unsafe<string | null>({
  ...NullableText,
  description: 'Null: generated from `html`.',
});

const Name = Type.String({ minLength: 1, maxLength: 200, description: 'A display name.' });

const Variable = closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'A dotted path, with `[]` for list items: `order.lines[].price`.',
      examples: ['first_name'],
    }),
    type: Type.Optional(
      oneOf(VARIABLE_TYPES, { description: 'Inferred from its use if omitted.' }),
    ),
    required: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], {
        description: 'Whether sends must provide it. Inferred if omitted.',
      }),
    ),
    default: Type.Optional(Type.Unknown({ description: 'The value for sends that provide none.' })),
    example: Type.Optional(Type.Unknown({ description: 'The value for previews and test sends.' })),
    description: Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), Type.Null()])),
    secret: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], {
        description:
          'For password reset links and one-time codes: the value is shown only to the recipient.',
      }),
    ),
    inferred: Type.Optional(
      Type.Boolean({ description: 'Whether the variable was inferred. Ignored in requests.' }),
    ),
  },
  { title: 'DeclareVariable' },
);

const TemplateVariable = Type.Object(
  {
    name: Type.String(),
    type: oneOf(VARIABLE_TYPES),
    required: Type.Boolean(),
    default: Type.Unknown({ description: 'Null: none.' }),
    example: Type.Unknown({ description: 'Null: none.' }),
    description: NullableText,
    secret: Type.Boolean({
      description: 'Whether it is redacted everywhere except in the message itself.',
    }),
    inferred: Type.Boolean({
      description: 'Whether it was inferred from the placeholders rather than declared.',
    }),
  },
  { title: 'TemplateVariable' },
);

const TemplateVariant = closed(
  {
    subject: Type.Optional(NullableText),
    html: Type.Optional(NullableText),
    text: Type.Optional(NullableText),
  },
  { title: 'TemplateVariant' },
);

const ContentVariant = closed(
  { html: Type.Optional(NullableText), text: Type.Optional(NullableText) },
  { title: 'ContentVariant' },
);

function locales(variant: TSchema, example: object): TSchema {
  return Type.Optional(
    Type.Union(
      [
        Type.Record(Type.String(), Type.Union([variant, Type.Null()]), {
          maxProperties: 100,
        }),
        Type.Null(),
      ],
      {
        description:
          'Variants by BCP 47 tag. Each given variant is replaced as a whole, or removed with null; others are kept. A send uses `de-AT`, else `de`, else the default content.',
        examples: [{ de: example }],
      },
    ),
  );
}

const NullableAddress = Type.Union([Address, Type.Null()], {
  description: 'The sender for sends that specify none. The name can contain placeholders.',
});

const TEMPLATE_FIELDS = {
  name: Type.Optional(Name),
  subject: Type.Optional(Subject),
  html: Type.Optional(Html),
  text: Type.Optional(Text),
  from: Type.Optional(NullableAddress),
  reply_to: Type.Optional(
    Type.Union([ReplyAddress, Type.Array(ReplyAddress, { maxItems: 10 }), Type.Null()], {
      description: 'For sends that specify none. Can contain placeholders.',
    }),
  ),
  stream: Type.Optional(
    Type.Union([StreamKey, Type.Null()], {
      description:
        'The stream of sends that specify none. Null: that of the API key, or `transactional`.',
    }),
  ),
  layout: Type.Optional(
    Type.Union([Type.String({ pattern: KEY_PATTERN }), Type.Null()], {
      description: 'The key of the layout that wraps it.',
      examples: ['main'],
    }),
  ),
  locales: locales(TemplateVariant, { subject: 'Willkommen, ${first_name}' }),
  variables: Type.Optional(
    Type.Union([Type.Array(Variable, { maxItems: 500 }), Type.Null()], {
      description: 'Declarations that go beyond what is inferred from the placeholders.',
    }),
  ),
};

const PIECE_FIELDS = {
  name: Type.Optional(Name),
  html: Type.Optional(Html),
  text: Type.Optional(Text),
  locales: locales(ContentVariant, { text: 'Mit freundlichen Grüßen' }),
};

const BASICS = {
  key: Key,
  name: Type.String(),
  published_version: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The version that sends use. Null: never published.',
  }),
  has_unpublished_changes: Type.Boolean({
    description: 'Whether the draft differs from the published version.',
  }),
};

const TIMES = {
  published_at: NullableTime,
  created_at: Time,
  updated_at: Time,
  updated_by: Type.String({ description: 'The id of the API key or user, or `cli`.' }),
};

const Etag = Type.String({
  description:
    'Identifies this state of the draft, for `If-Match`. Every change creates a new one.',
});

const SENDER = Type.Object({
  email: Type.String(),
  name: Type.Optional(Type.String()),
});

function wordsOf(fields: Record<string, TSchema>): TSchema {
  return Type.Record(Type.String(), Type.Object(fields), {
    description: 'Variants by BCP 47 tag.',
  });
}

const OptionalText = Type.Optional(Type.String());

const TEMPLATE_CONTENT = {
  subject: NullableText,
  html: NullableText,
  text: NullableText,
  from: Type.Union([SENDER, Type.Null()]),
  reply_to: Type.Array(SENDER),
  stream: NullableText,
  layout: NullableText,
  locales: wordsOf({ subject: OptionalText, html: OptionalText, text: OptionalText }),
  variables: Type.Array(TemplateVariable, { description: 'Declared and inferred variables.' }),
};

const PIECE_CONTENT = {
  html: NullableText,
  text: NullableText,
  locales: wordsOf({ html: OptionalText, text: OptionalText }),
};

const VERSION_FIELDS = {
  key: Type.String(),
  version: Type.Integer(),
  current: Type.Boolean({ description: 'Whether sends use this version now.' }),
  published_at: Type.Unsafe<string>({ ...Time, description: 'When it was last published.' }),
  published_by: Type.String({ description: 'The id of the API key or user, or `cli`.' }),
  note: NullableText,
  publications: Type.Array(
    Type.Object({ published_at: Time, published_by: Type.String(), note: NullableText }),
    { description: 'Every publication of this version, oldest first.' },
  ),
};

export const PathKey = Type.Object({
  key: Type.String({ description: 'The key.', examples: ['welcome'] }),
});

export const PathKeyVersion = Type.Object({
  key: Type.String({ description: 'The key.', examples: ['welcome'] }),
  version: Type.String({ description: 'The version number.', examples: ['3'] }),
});

export const VersionParameter = Type.String({
  pattern: '^(draft|[1-9][0-9]{0,8})$',
  description: 'A version number, or `draft`.',
  examples: ['3'],
});

export const VersionName = Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('draft')], {
  description: 'A published version, or `"draft"`.',
  examples: ['draft'],
});

export interface KindSchemas {
  /** The capitalized noun in operation ids. */
  Noun: string;
  noun: string;
  path: string;
  full: TSchema;
  summaries: TSchema;
  example: Record<string, unknown>;
  create: TSchema;
  createExample: Record<string, unknown>;
  update: TSchema;
  updateExample: Record<string, unknown>;
  /** All fields of a draft; an absent field is empty. */
  push: TSchema;
  version: TSchema;
  versions: TSchema;
}

/** What differs between templates, layouts and partials. */
export const KIND_SCHEMAS: Record<ContentKind, KindSchemas> = {
  template: kindSchemas({
    Noun: 'Template',
    prefix: 'tpl',
    fields: TEMPLATE_FIELDS,
    content: TEMPLATE_CONTENT,
    summary: { subject: NullableText, layout: NullableText },
    example: TEMPLATE,
    createExample: {
      key: 'welcome',
      name: 'Welcome',
      subject: 'Welcome, ${first_name}',
      html: '<p>Hello {{ first_name }}, good to have you.</p>',
      variables: [{ name: 'first_name', example: 'Jane' }],
    },
    updateExample: { subject: 'Good to have you, ${first_name}' },
  }),
  layout: kindSchemas({
    Noun: 'Layout',
    prefix: 'lay',
    fields: PIECE_FIELDS,
    content: PIECE_CONTENT,
    summary: {},
    example: LAYOUT,
    createExample: {
      key: 'main',
      html: '<html><body><main>{{ content }}</main><p>Example Ltd.</p></body></html>',
    },
    updateExample: { html: '<html><body>{{ content }}</body></html>' },
  }),
  partial: kindSchemas({
    Noun: 'Partial',
    prefix: 'prt',
    fields: PIECE_FIELDS,
    content: PIECE_CONTENT,
    summary: {},
    example: PARTIAL,
    createExample: { key: 'footer', html: '<p>Example Ltd., 1 High Street</p>' },
    updateExample: { text: 'Example Ltd., 1 High Street' },
  }),
};

function kindSchemas(options: {
  Noun: string;
  prefix: string;
  fields: Record<string, TSchema>;
  content: Record<string, TSchema>;
  summary: Record<string, TSchema>;
  example: Record<string, unknown>;
  createExample: Record<string, unknown>;
  updateExample: Record<string, unknown>;
}): KindSchemas {
  const { Noun, fields, content, example } = options;
  const noun = Noun.toLowerCase();
  const own = { id: id(options.prefix, `the ${noun}`), ...BASICS };
  const summary = Type.Object(
    {
      ...own,
      ...options.summary,
      locales: Type.Array(Type.String(), { description: 'Its variants.' }),
      ...TIMES,
    },
    { title: `${Noun}Summary`, examples: [summaryExample(example)] },
  );
  const { key, published_version } = example;
  const versionExample = { ...VERSION, key, version: published_version };
  const version = Type.Object(VERSION_FIELDS, {
    title: `${Noun}VersionSummary`,
    examples: [versionExample],
  });
  return {
    Noun,
    noun,
    path: `/${noun}s`,
    full: Type.Object(
      { ...own, ...content, ...TIMES, etag: Etag },
      { title: Noun, examples: [example] },
    ),
    summaries: page(summary, `${Noun}Page`),
    example,
    create: closed({ key: Key, ...fields }, { title: `Create${Noun}` }),
    createExample: options.createExample,
    update: closed(fields, { title: `Update${Noun}`, minProperties: 1 }),
    updateExample: options.updateExample,
    push: closed(fields, { title: `Push${Noun}` }),
    version: Type.Object(
      { ...VERSION_FIELDS, ...content },
      {
        title: `${Noun}Version`,
        examples: [{ ...versionExample, ...contentExample(example, Object.keys(content)) }],
      },
    ),
    versions: page(version, `${Noun}VersionPage`),
  };
}

function summaryExample(example: Record<string, unknown>): Record<string, unknown> {
  const left = new Set(['html', 'text', 'from', 'reply_to', 'stream', 'variables', 'etag']);
  const rest = Object.entries(example).filter(([name]) => !left.has(name));
  return { ...Object.fromEntries(rest), locales: Object.keys(example.locales as object) };
}

function contentExample(example: Record<string, unknown>, fields: readonly string[]) {
  return Object.fromEntries(fields.map((field) => [field, example[field]]));
}
