import { Type } from 'typebox';
import { type Operation, operation } from '../../operation.ts';

/** Each with its usual value, for the reference, and its meaning. */
const LIMITS = {
  requests_per_second: [100, 'Requests a second of one workspace.'],
  requests_burst: [200, 'Requests at once after a rest.'],
  request_body_bytes: [31_457_280, 'The largest request body.'],
  message_bytes: [26_214_400, 'The largest message, encoded as it is sent.'],
  html_bytes: [2_097_152, 'The largest `html`.'],
  text_bytes: [2_097_152, 'The largest `text`.'],
  subject_bytes: [998, 'The longest subject, encoded.'],
  recipients: [50, '`to`, `cc` and `bcc` of one message together.'],
  batch_messages: [500, 'Messages in one batch.'],
  headers: [20, 'Extra headers of one message.'],
  header_bytes: [2048, 'The longest extra header.'],
  metadata_pairs: [20, 'Pairs in `metadata`.'],
  tags: [10, 'Tags of one message.'],
  schedule_ahead_seconds: [2_592_000, 'How far ahead a message may be scheduled.'],
  retry_window_seconds: [259_200, 'How long a deferred delivery is tried again.'],
  idempotency_seconds: [86_400, 'How long an `Idempotency-Key` is remembered.'],
  content_retention_days: [30, 'How long the content of messages is kept.'],
  record_retention_days: [90, 'How long messages, attempts and events are kept.'],
} as const;

export type PublishedLimits = Record<keyof typeof LIMITS, number>;

export function getLimits(deps: { limits: PublishedLimits }): Operation {
  const fields = Object.entries(LIMITS).map(([name, [usual, description]]) => [
    name,
    Type.Integer({ description, examples: [usual] }),
  ]);
  return operation(
    {
      id: 'getLimits',
      method: 'GET',
      path: '/limits',
      tag: 'Service',
      summary: 'Read the limits in force',
      description: 'What the operator of this server allows.',
      scope: 'any',
      responses: {
        200: {
          description: 'The limits.',
          body: Type.Object(Object.fromEntries(fields), { title: 'Limits' }),
        },
      },
    },
    () => ({ status: 200, body: deps.limits }),
  );
}
