import { Type } from 'typebox';
import { STREAM_PURPOSES } from '../../../streams/stream.ts';
import { STREAM_KEY_PATTERN } from '../../../streams/stream-source.ts';
import { closed, NullableTime, oneOf, singleLine } from '../../openapi/shared-schemas.ts';

export { DEFAULT_STREAM_KEY } from '../../../streams/stream.ts';

export const StreamKey = Type.String({
  pattern: STREAM_KEY_PATTERN,
  description: 'The key of a stream.',
  examples: ['weekly-digest'],
});

/** A query parameter that selects one stream. A key that does not exist finds nothing. */
export const StreamFilter = Type.Optional(
  Type.String({ minLength: 1, maxLength: 64, description: 'The key of a stream.' }),
);

/** Keys in a path are looked up, not validated: a malformed key is simply not found. */
export const StreamPath = Type.Object({
  key: Type.String({ description: 'The key of the stream.', examples: ['weekly-digest'] }),
});

const Name = singleLine({
  maxLength: 100,
  description: 'The name that members see.',
  examples: ['Weekly digest'],
});

const TrackingDefault = Type.Union([Type.Boolean(), Type.Null()], {
  description: 'Null: the setting of the sender’s domain.',
});

const Purpose = Type.Unsafe<(typeof STREAM_PURPOSES)[number]>({
  ...oneOf(STREAM_PURPOSES),
  description:
    '`transactional`: mail that follows from something the recipient did. `subscription`: mail ' +
    'that the recipient subscribed to. It cannot be changed later.',
});

const NullableName = Type.Union([singleLine({ maxLength: 100 }), Type.Null()]);

const Brand = {
  name: Type.Unsafe<string | null>({
    ...NullableName,
    description: 'The sender’s name. Null: the name of the workspace.',
    examples: ['Example Ltd.'],
  }),
  logo_url: Type.Union([Type.String({ pattern: '^https://[!-~]{1,1990}$' }), Type.Null()], {
    description: 'An https URL of an image.',
    examples: ['https://yourdomain.com/logo.png'],
  }),
  color: Type.Union([Type.String({ pattern: '^#[0-9a-fA-F]{6}$' }), Type.Null()], {
    description: 'The color of the button, as `#rrggbb`.',
    examples: ['#0a7cff'],
  }),
};

const NullableSender = Type.Union(
  [
    closed({
      email: Type.String({ format: 'email', maxLength: 320, examples: ['digest@yourdomain.com'] }),
      name: Type.Optional(NullableName),
    }),
    Type.Null(),
  ],
  { description: 'The sender of mail that names none, neither itself nor in its template.' },
);

const NullableRoute = Type.Union([Type.String({ minLength: 1, maxLength: 64 }), Type.Null()], {
  description:
    'How live mail of the stream is sent: a name from `STREAM_ROUTES`, which the operator sets. ' +
    'Null: as all mail.',
  examples: [null],
});

const NullableRate = Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()], {
  description:
    'How many recipients get live mail of the stream per minute. Each node sends at this rate; ' +
    'mail above it waits in the queue. Scheduled mail is not limited. Null: no limit.',
});

const NullableRetention = Type.Union([Type.Integer({ minimum: 1, maximum: 3650 }), Type.Null()], {
  description:
    'Days after which the content of finished messages is deleted, if that is earlier than ' +
    '`content_retention_days` of `GET /limits`, which is used if this is null.',
});

const Changeable = {
  name: Type.Optional(Name),
  tracking: Type.Optional(
    closed(
      { opens: Type.Optional(TrackingDefault), clicks: Type.Optional(TrackingDefault) },
      { description: 'Whether opens and clicks are tracked, for sends that do not specify it.' },
    ),
  ),
  brand: Type.Optional(
    closed(
      {
        name: Type.Optional(Brand.name),
        logo_url: Type.Optional(Brand.logo_url),
        color: Type.Optional(Brand.color),
      },
      { description: 'How the sender appears on the page where recipients unsubscribe.' },
    ),
  ),
  from: Type.Optional(NullableSender),
  route: Type.Optional(NullableRoute),
  messages_per_minute: Type.Optional(NullableRate),
  content_retention_days: Type.Optional(NullableRetention),
};

export const CreateStream = closed(
  { key: StreamKey, purpose: Purpose, ...Changeable },
  { title: 'CreateStream' },
);

export const UpdateStream = closed(Changeable, { title: 'UpdateStream', minProperties: 1 });

const STREAM = {
  key: 'weekly-digest',
  name: 'Weekly digest',
  purpose: 'subscription',
  tracking: { opens: null, clicks: null },
  brand: { name: 'Example Ltd.', logo_url: null, color: '#0a7cff' },
  from: { email: 'digest@yourdomain.com', name: 'Example Ltd.' },
  route: null,
  messages_per_minute: 600,
  content_retention_days: 7,
  created_at: '2026-11-15T09:30:00.000Z',
  updated_at: '2026-11-15T09:30:00.000Z',
};

export const Stream = Type.Object(
  {
    key: Type.String(),
    name: Type.String(),
    purpose: Purpose,
    tracking: Type.Object({ opens: TrackingDefault, clicks: TrackingDefault }),
    brand: Type.Object(Brand),
    from: Type.Union(
      [
        Type.Object({
          email: Type.String(),
          name: Type.Union([Type.String(), Type.Null()]),
        }),
        Type.Null(),
      ],
      { description: 'The sender of mail that names none, neither itself nor in its template.' },
    ),
    route: NullableRoute,
    messages_per_minute: NullableRate,
    content_retention_days: NullableRetention,
    created_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'Null for `transactional`, which every workspace has, until it is changed.',
    }),
    updated_at: NullableTime,
  },
  { title: 'Stream', examples: [STREAM] },
);
