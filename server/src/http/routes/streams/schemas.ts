import { Type } from 'typebox';
import { STREAM_PURPOSES } from '../../../streams/stream.ts';
import { STREAM_KEY_PATTERN } from '../../../streams/stream-source.ts';
import { closed, NullableTime, oneOf } from '../../openapi/shared-schemas.ts';

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

const Name = Type.String({
  minLength: 1,
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

const Changeable = {
  name: Type.Optional(Name),
  tracking: Type.Optional(
    closed(
      { opens: Type.Optional(TrackingDefault), clicks: Type.Optional(TrackingDefault) },
      { description: 'Whether opens and clicks are tracked, for sends that do not specify it.' },
    ),
  ),
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
  created_at: '2026-11-15T09:30:00.000Z',
  updated_at: '2026-11-15T09:30:00.000Z',
};

export const Stream = Type.Object(
  {
    key: Type.String(),
    name: Type.String(),
    purpose: Purpose,
    tracking: Type.Object({ opens: TrackingDefault, clicks: TrackingDefault }),
    created_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'Null for `transactional`, which every workspace has, until it is changed.',
    }),
    updated_at: NullableTime,
  },
  { title: 'Stream', examples: [STREAM] },
);
