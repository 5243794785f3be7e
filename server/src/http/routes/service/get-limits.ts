import { Type } from 'typebox';
import type { RateLimiter } from '../../../accounts/rate-limit.ts';
import { type Operation, operation } from '../../operation.ts';

/** Each limit with its default value, for the reference, and its description. */
const LIMITS = {
  requests_per_second: [
    100,
    'Requests per second and workspace. `GET` requests have a limit of their own that is as high.',
  ],
  requests_burst: [200, 'Burst size of each rate limit.'],
  request_body_bytes: [31_457_280, 'Maximum size of a request body.'],
  message_bytes: [26_214_400, 'Maximum size of a message, encoded as it is sent.'],
  html_bytes: [2_097_152, 'Maximum size of `html`.'],
  text_bytes: [2_097_152, 'Maximum size of `text`.'],
  subject_bytes: [998, 'Maximum size of the subject, encoded.'],
  recipients: [50, 'Maximum number of recipients per message: `to`, `cc` and `bcc` together.'],
  batch_messages: [500, 'Maximum number of messages per batch.'],
  headers: [20, 'Maximum number of extra headers per message.'],
  header_bytes: [2048, 'Maximum size of an extra header.'],
  metadata_pairs: [20, 'Maximum number of pairs in `metadata`.'],
  tags: [10, 'Maximum number of tags per message.'],
  schedule_ahead_seconds: [2_592_000, 'How far ahead a message can be scheduled.'],
  retry_window_seconds: [259_200, 'How long a deferred delivery is retried.'],
  idempotency_seconds: [86_400, 'How long an `Idempotency-Key` is kept.'],
  content_retention_days: [30, 'How long the content of messages is kept.'],
  record_retention_days: [90, 'How long messages, attempts and events are kept.'],
} as const;

export interface PublishedLimits extends Record<keyof typeof LIMITS, number> {
  stream_routes: readonly string[];
}

export function getLimits(deps: { limits: PublishedLimits; rateLimiter: RateLimiter }): Operation {
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
      summary: 'Retrieve the limits',
      description:
        'The limits that the operator of this server has set, for all workspaces or for this one.',
      scope: 'any',
      responses: {
        200: {
          description: 'The limits.',
          body: Type.Object(
            {
              ...Object.fromEntries(fields),
              stream_routes: Type.Array(Type.String(), {
                description: 'The names that `route` of a stream can have.',
                examples: [[]],
              }),
            },
            { title: 'Limits' },
          ),
        },
      },
    },
    ({ caller }) => {
      const { perSecond, burst } = deps.rateLimiter.limitOf(caller.workspaceId);
      const rate = { requests_per_second: perSecond, requests_burst: burst };
      return { status: 200, body: { ...deps.limits, ...rate } };
    },
  );
}
