import { type TSchema, Type } from 'typebox';
import { SendMessage } from '../../../messages/accept/send-request.ts';
import type { BatchSender, SentBatch } from '../../batch-sender.ts';
import { closed, oneOf, Problem } from '../../openapi/shared-schemas.ts';
import { type Operation, type OperationResponse, operation } from '../../operation.ts';
import { toProblemResponse } from '../../problems/problem-details.ts';
import { rateLimitHeader } from '../../rate-limit-header.ts';
import { AcceptedMessage } from '../messages/schemas.ts';
import { REPLAYED, REPLAYED_HEADER, SEND_PROBLEMS } from './send-problems.ts';

export const SendMode = Type.Optional(
  oneOf(['strict', 'permissive'] as const, { default: 'strict' }),
);

export const BatchResult = Type.Object(
  {
    data: Type.Array(
      Type.Union([
        Type.Object({ index: Type.Integer({ examples: [0] }), message: AcceptedMessage }),
        Type.Object({ index: Type.Integer(), error: Problem }),
      ]),
    ),
  },
  { title: 'BatchResult' },
);

export function sendBatch(deps: {
  batchSender: BatchSender;
  baseUrl: string;
  batchMax: number;
}): Operation {
  const bodyOf = (message: TSchema) =>
    closed(
      {
        messages: Type.Array(message, { minItems: 1, maxItems: deps.batchMax }),
        mode: SendMode,
      },
      { title: 'SendBatch' },
    );
  return operation(
    {
      id: 'sendBatch',
      method: 'POST',
      path: '/transactional/batch',
      tag: 'Sending',
      summary: 'Send a batch of messages',
      description:
        'Accepts up to 500 messages in one transaction. `strict`, the default: if any message ' +
        'is invalid, nothing is accepted. `permissive`: valid messages are accepted and each ' +
        'invalid one gets its problem; if none is valid, the response is 422. Each message counts ' +
        'as one request of the rate limit: after a batch beyond the limit, later requests get 429 ' +
        'until enough time has passed.',
      scope: 'send:transactional',
      notAudited: 'sends',
      body: bodyOf(SendMessage),
      // Each message is validated on its own, so that a malformed one does not fail the others.
      validatedBody: bodyOf(Type.Unknown()),
      examples: {
        two: {
          summary: 'Two messages',
          value: {
            messages: ['jane@example.com', 'joe@example.com'].map((email) => ({
              to: { email },
              from: { email: 'hello@yourdomain.com' },
              subject: 'Hello',
              html: '<p>Hello!</p>',
            })),
          },
        },
      },
      responses: {
        202: {
          description: 'Accepted and stored durably.',
          body: BatchResult,
          headers: REPLAYED_HEADER,
        },
      },
      problems: SEND_PROBLEMS,
      handlesIdempotency: true,
    },
    async ({ caller, body, idempotency, requestId }) => {
      const strict = body.mode !== 'permissive';
      const batch = await deps.batchSender.send(caller, body.messages, {
        strict,
        idempotency,
        requestId,
      });
      return batchResponse(batch, deps.baseUrl);
    },
  );
}

export function batchResponse(batch: SentBatch, baseUrl: string): OperationResponse {
  const data = batch.items.map((item) =>
    'message' in item
      ? item
      : {
          index: item.index,
          error: toProblemResponse(item.error, batch.requestId, baseUrl).problem,
        },
  );
  const headers = {
    ratelimit: rateLimitHeader('workspace', batch.rate),
    ...(batch.replayed ? REPLAYED : {}),
  };
  return { status: 202, body: { data }, headers };
}
