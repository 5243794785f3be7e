import { Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import { WEBHOOK_FORMATS } from '../../../webhooks/formats/webhook-format.ts';
import { closed, id, Mode, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { BOUNCED_EVENT } from '../messages/examples.ts';
import { StreamKey } from '../streams/schemas.ts';

const FAMILIES = [...new Set(EVENT_TYPES.map((type) => `${type.split('.')[0]}.*`))];

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'An https URL on the public internet; test endpoints can use http. Redirects are not followed. ' +
    'A user name and password in it become an encrypted `Authorization` header.',
  examples: ['https://yourdomain.com/hooks/mail'],
});

const Events = Type.Array(oneOf(['*', ...FAMILIES, ...EVENT_TYPES]), {
  minItems: 1,
  maxItems: 100,
  description:
    'Event types, families such as `message.*`, or `*` for everything except audit events. With the ' +
    'format of another provider, `*` and families mean the types that have an equivalent in it. ' +
    'An endpoint for `audit.*` receives nothing else, which cannot be changed later; to create or ' +
    'use it requires `read:audit_log`.',
  examples: [['message.*']],
});

const StreamKeys = Type.Array(StreamKey, {
  maxItems: 100,
  description:
    'Only events about messages, suppressions and alarms of these streams, and events that concern ' +
    'no stream. Empty: of all streams.',
  examples: [['weekly-digest']],
});

/** The fields that name streams, to check that they exist. */
export function webhookStreams({ streams = [] }: { streams?: readonly string[] }) {
  return streams.map((key, index) => ({ key, pointer: `/streams/${index}` }));
}

const Format = Type.Unsafe<(typeof WEBHOOK_FORMATS)[number]>({
  ...oneOf(WEBHOOK_FORMATS),
  description:
    'Payload shape, event names and signature of the requests: ours, or those of another provider, ' +
    'for receivers that were written for it. It cannot be changed later.',
});

const Description = Type.String({ maxLength: 500, examples: ['Web shop'] });

const HeaderChange = Type.Record(
  Type.String(),
  Type.Union([Type.String({ maxLength: 2048 }), Type.Null()]),
  {
    maxProperties: 20,
    description:
      'Headers to add to every request. Their values are never returned. In an update, null ' +
      'removes a header, and headers that are not given are kept.',
    examples: [{ 'X-Api-Key': 'your-secret' }],
  },
);

export const CreateWebhook = closed(
  {
    url: Url,
    events: Type.Optional(Type.Unsafe<string[]>({ ...Events, default: ['*'] })),
    streams: Type.Optional(Type.Unsafe<string[]>({ ...StreamKeys, default: [] })),
    description: Type.Optional(Description),
    format: Type.Optional(
      Type.Unsafe<(typeof WEBHOOK_FORMATS)[number]>({ ...Format, default: 'postrider' }),
    ),
    enabled: Type.Optional(Type.Boolean({ default: true })),
    headers: Type.Optional(HeaderChange),
  },
  { title: 'CreateWebhook' },
);

export const UpdateWebhook = closed(
  {
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    streams: Type.Optional(StreamKeys),
    description: Type.Optional(Description),
    enabled: Type.Optional(
      Type.Boolean({
        description:
          'While disabled, nothing is sent and new events are not queued. Events that were already queued are sent once it is enabled again.',
      }),
    ),
    headers: Type.Optional(HeaderChange),
  },
  { title: 'UpdateWebhook', minProperties: 1 },
);

const WEBHOOK = {
  id: 'whk_01kc8x3f7ye6qvj2m4n5p6q7r8',
  url: 'https://yourdomain.com/hooks/mail',
  events: ['message.*'],
  streams: [],
  description: 'Web shop',
  format: 'postrider',
  public_key: null,
  topic_arn: null,
  signing_cert_url: null,
  enabled: true,
  headers: { 'X-Api-Key': '[hidden]' },
  mode: 'live',
  created_at: '2026-11-01T08:00:00.000Z',
  updated_at: '2026-11-01T08:00:00.000Z',
  failing_since: null,
  disabled_at: null,
  disabled_reason: null,
  waiting_events: 0,
  waiting_since: null,
};

/** A well-formed value that is not a real secret. */
const SECRET = `whsec_${Buffer.from('an example, not a real secret...').toString('base64')}`;

const Fields = {
  id: id('whk', 'the endpoint'),
  url: Type.String(),
  events: Type.Array(Type.String()),
  streams: Type.Array(Type.String(), { description: 'Empty: all streams.' }),
  description: Type.String(),
  format: Format,
  public_key: Type.Union([Type.String(), Type.Null()], {
    description: 'With the format `sendgrid`: the key that verifies signatures. Otherwise null.',
  }),
  topic_arn: Type.Union([Type.String(), Type.Null()], {
    description: 'With the format `ses-sns`: the `TopicArn` of messages. Otherwise null.',
  }),
  signing_cert_url: Type.Union([Type.String(), Type.Null()], {
    description:
      'With the format `ses-sns`: where receivers find the certificate that verifies signatures. ' +
      'Otherwise null.',
  }),
  enabled: Type.Boolean(),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'The names of the extra headers; their values are hidden.',
  }),
  mode: Mode,
  created_at: Time,
  updated_at: Time,
  failing_since: Type.Unsafe<string | null>({
    ...NullableTime,
    description: 'The first failure since the last success; null if there is none.',
  }),
  disabled_at: NullableTime,
  disabled_reason: Type.Union([Type.String(), Type.Null()], {
    description:
      '`manual`, `gone` (it returned 410) or `failing` (every delivery failed for five days).',
  }),
  waiting_events: Type.Integer({
    minimum: 0,
    description:
      'About how many events wait for their first attempt, because they arrive faster than the ' +
      'endpoint accepts them, or because it is disabled. They are not among the deliveries yet. ' +
      'Of a very long queue, only the first part is counted.',
  }),
  waiting_since: Type.Unsafe<string | null>({
    ...NullableTime,
    description: 'When the oldest of them was created; null if there are none.',
  }),
};

export const Webhook = Type.Object(Fields, { title: 'Webhook', examples: [WEBHOOK] });

export const WebhookWithSecret = Type.Object(
  {
    ...Fields,
    secret: Type.String({
      description:
        'The signing secret. Shown only once. With the formats `sendgrid` and `ses-sns`, it ' +
        'verifies the headers of Standard Webhooks, which they have besides their own signature.',
    }),
  },
  { title: 'WebhookWithSecret', examples: [{ ...WEBHOOK, secret: SECRET }] },
);

export const RotatedWebhook = Type.Object(
  {
    ...Fields,
    secret: Type.String({ description: 'The new secret. Shown only once.' }),
    previous_ends_at: Type.Unsafe<string>({
      ...Time,
      description:
        'Until then, requests carry a signature for each secret; with the formats `sendgrid` and ' +
        '`mailgun`, which have room for one signature, the previous key signs until then.',
    }),
  },
  {
    title: 'RotatedWebhook',
    examples: [{ ...WEBHOOK, secret: SECRET, previous_ends_at: '2026-11-16T09:30:00.000Z' }],
  },
);

export const WEBHOOK_DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;

const NullableText = Type.Union([Type.String(), Type.Null()]);
const NullableStatus = Type.Union([Type.Integer(), Type.Null()], {
  description: 'The HTTP status of the response; null if there was none.',
});

const DELIVERY = {
  id: 'whd_01kc8x3g0kf3s9w2a4b6c8d0e2',
  webhook_id: WEBHOOK.id,
  event_id: BOUNCED_EVENT.id,
  event_type: BOUNCED_EVENT.type,
  message_id: BOUNCED_EVENT.data.message_id,
  status: 'pending',
  tries_count: 1,
  created_at: '2026-11-15T09:30:00.450Z',
  next_try_at: '2026-11-15T09:30:05.600Z',
  finished_at: null,
  last_status: 503,
  last_error: 'The receiver responded with 503. Only 2xx counts as received.',
};

const DeliveryFields = {
  id: id('whd', 'the webhook delivery'),
  webhook_id: id('whk', 'the endpoint'),
  event_id: id('evt', 'the event: also `webhook-id` of the request'),
  event_type: Type.String(),
  message_id: Type.Unsafe<string | null>({
    ...Type.Union([id('msg', 'the message'), Type.Null()]),
    description: 'The message that the event is about, or null.',
  }),
  status: oneOf(WEBHOOK_DELIVERY_STATUSES),
  tries_count: Type.Integer({ description: 'Number of attempts so far, including replays.' }),
  created_at: Time,
  next_try_at: Type.Unsafe<string | null>({
    ...NullableTime,
    description: 'Null if the delivery is finished or in progress.',
  }),
  finished_at: NullableTime,
  last_status: NullableStatus,
  last_error: Type.Unsafe<string | null>({
    ...NullableText,
    description: 'What went wrong in the last attempt.',
  }),
};

export const WebhookDelivery = Type.Object(DeliveryFields, {
  title: 'WebhookDelivery',
  examples: [DELIVERY],
});

const TRY = {
  number: 1,
  started_at: '2026-11-15T09:30:00.460Z',
  duration_ms: 38,
  url: WEBHOOK.url,
  request_headers: {
    'X-Api-Key': '[hidden]',
    'content-type': 'application/json',
    'webhook-id': BOUNCED_EVENT.id,
    'webhook-timestamp': '1794735000',
    'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
  status: 503,
  response_body: 'Service Unavailable',
  error: DELIVERY.last_error,
};

const Try = Type.Object(
  {
    number: Type.Integer(),
    started_at: Time,
    duration_ms: Type.Integer(),
    url: Type.String(),
    request_headers: Type.Record(Type.String(), Type.String()),
    status: NullableStatus,
    response_body: Type.Unsafe<string | null>({
      ...NullableText,
      description: 'The first 4 KiB of the response.',
    }),
    error: NullableText,
  },
  { title: 'WebhookTry', examples: [TRY] },
);

export const WebhookDeliveryWithTries = Type.Object(
  {
    ...DeliveryFields,
    body: Type.Unsafe<string | null>({
      ...NullableText,
      description:
        'The body, the same for every attempt; null after the event has been deleted. With the ' +
        'formats `mailgun` and `ses-sns`, the event without the envelope that carries its signature.',
    }),
    tries: Type.Array(Try),
  },
  {
    title: 'WebhookDeliveryWithTries',
    examples: [{ ...DELIVERY, body: JSON.stringify(BOUNCED_EVENT), tries: [TRY] }],
  },
);

export const SUBSCRIPTION_CONFIRMATION = 'subscription_confirmation';

export const TestWebhook = closed(
  {
    type: Type.Optional(
      Type.Unsafe<(typeof EVENT_TYPES)[number] | typeof SUBSCRIPTION_CONFIRMATION>({
        ...oneOf([...EVENT_TYPES, SUBSCRIPTION_CONFIRMATION]),
        default: 'message.delivered',
        description:
          'The event type of the sample. With the format `ses-sns` also ' +
          '`subscription_confirmation`: the request that a new endpoint receives.',
      }),
    ),
  },
  { title: 'TestWebhook' },
);

export const WebhookTestResult = Type.Object(
  {
    succeeded: Type.Boolean({ description: 'Whether the receiver returned 2xx in time.' }),
    status: NullableStatus,
    duration_ms: Type.Integer(),
    error: NullableText,
    response_body: NullableText,
    url: Type.String(),
    request_headers: Type.Record(Type.String(), Type.String()),
    body: Type.String({ description: 'The request body.' }),
  },
  {
    title: 'WebhookTestResult',
    examples: [
      {
        succeeded: true,
        status: 204,
        duration_ms: 41,
        error: null,
        response_body: '',
        url: WEBHOOK.url,
        request_headers: TRY.request_headers,
        body: JSON.stringify(BOUNCED_EVENT),
      },
    ],
  },
);

export const ReplayWebhook = closed(
  {
    delivery_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Only this delivery.' }),
    ),
    from: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Events from this time on. Default: 30 days ago.',
      }),
    ),
    to: Type.Optional(
      Type.String({ format: 'date-time', description: 'Events before this time. Default: now.' }),
    ),
    only_failed: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Only failed deliveries. Otherwise every event in the range that the endpoint ' +
          'subscribes to, including events it never received because it was disabled.',
      }),
    ),
  },
  { title: 'ReplayWebhook', minProperties: 1 },
);

export const ReplayResult = Type.Object(
  {
    replayed: Type.Integer({
      description: 'How many deliveries were queued again.',
      examples: [1],
    }),
    next_from: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'Not null if the range contains more: repeat the request with it as `from`.',
      examples: [null],
    }),
  },
  { title: 'ReplayResult' },
);

/** Path parameters of a delivery. They are looked up, not validated. */
export const DeliveryPath = Type.Object({
  id: Type.String({ description: 'The id of the endpoint.', examples: [WEBHOOK.id] }),
  delivery_id: Type.String({ description: 'The id of the delivery.', examples: [DELIVERY.id] }),
});
