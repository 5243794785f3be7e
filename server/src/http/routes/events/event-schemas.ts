import { type TSchema, Type } from 'typebox';
import { EVENT_TYPES, type EventType } from '../../../events/event-types.ts';
import type { ComponentSchemas } from '../../openapi/component-schemas.ts';
import { exampleOf } from '../../openapi/schema-example.ts';
import { id, Mode, Time } from '../../openapi/shared-schemas.ts';
import { INBOUND_CONTENT } from '../inbound-messages/examples.ts';
import { BOUNCED_EVENT, MESSAGE_SUMMARY } from '../messages/examples.ts';
import { PAYLOADS } from './event-payloads.ts';

/** Events, as in the event log, the event list and webhooks. */

/** The message that sample events are about. */
export const SAMPLE_MESSAGE = {
  from: MESSAGE_SUMMARY.from,
  subject: MESSAGE_SUMMARY.subject,
  messageId: `${MESSAGE_SUMMARY.id}@yourdomain.com`,
};

/** The content of the inbound message in sample events. */
export const SAMPLE_INBOUND_CONTENT = {
  text: INBOUND_CONTENT.text,
  html: INBOUND_CONTENT.html,
  headers: INBOUND_CONTENT.headers,
  attachments: [{ content: Buffer.from('A sample file') }],
  raw: Buffer.from(
    [
      ...INBOUND_CONTENT.headers.map(({ name, value }) => `${name}: ${value}`),
      '',
      INBOUND_CONTENT.text,
    ].join('\r\n'),
  ),
};

/** Returns sample data of an event type. */
export function sampleData(type: EventType): object {
  return exampleOf(PAYLOADS[type].data) as object;
}

/** The schema of each event type, named like `MessageBouncedEvent`. */
const EVENT_SCHEMAS = Object.fromEntries(
  EVENT_TYPES.map((type) => [type, eventSchema(type)]),
) as Record<EventType, TSchema>;

function eventSchema(type: EventType): TSchema {
  const name = pascalCase(type);
  return Type.Object(
    {
      id: id('evt', 'the event'),
      type: Type.Literal(type),
      api_version: Type.Literal('v1'),
      mode: Mode,
      created_at: Time,
      sequence: Type.Union([Type.Integer(), Type.Null()], {
        description:
          'Position among the events of the same recipient, counted from 1; use it for sorting. Null for events that are not about a message.',
        examples: [type.startsWith('message.') ? 1 : null],
      }),
      data: Type.Unsafe({ ...PAYLOADS[type].data, title: `${name}Data` }),
    },
    { title: `${name}Event` },
  );
}

/** Any event, discriminated by `type`. */
export const Event = Type.Unsafe({
  title: 'Event',
  oneOf: Object.values(EVENT_SCHEMAS),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(
      EVENT_TYPES.map((type) => [type, `#/components/schemas/${pascalCase(type)}Event`]),
    ),
  },
  examples: [BOUNCED_EVENT],
});

/** The type as a name: `MessageBounced` for `message.bounced`. */
function pascalCase(type: EventType): string {
  return type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Headers of Standard Webhooks, which let the receiver verify the origin and detect replays.
 */
const SIGNED_HEADERS = [
  ['webhook-id', 'The id of the event, the same for every attempt. Use it to discard duplicates.'],
  [
    'webhook-timestamp',
    'When this attempt was made, in seconds since the Unix epoch. Reject old ones.',
  ],
  ['webhook-signature', '`v1,` and the Base64 signature; several during a secret rotation.'],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}));

/** Returns the `webhooks` section of the OpenAPI document. */
export function webhookDescriptions(named: ComponentSchemas): Record<string, unknown> {
  return Object.fromEntries(
    EVENT_TYPES.map((type) => {
      const schema = EVENT_SCHEMAS[type];
      const operation = {
        operationId: `on${pascalCase(type)}`,
        tags: ['Webhooks'],
        summary: type,
        description: PAYLOADS[type].description,
        parameters: SIGNED_HEADERS,
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: named.refer(schema), example: exampleOf(schema) },
          },
        },
        responses: { '2XX': { description: 'Received. Any other status is retried later.' } },
      };
      return [type, { post: operation }];
    }),
  );
}
