import { type TSchema, Type } from 'typebox';
import type { RateLimiter } from '../../../accounts/rate-limit.ts';
import type { BatchItem, MessageAcceptor } from '../../../messages/accept/accept-message.ts';
import type { SendRequest } from '../../../messages/accept/send-request.ts';
import { closed, oneOf, Problem } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toProblemResponse } from '../../problems/problem-details.ts';
import { rateLimitHeader } from '../../rate-limit-header.ts';
import { listValidator } from '../../validation/schema-validator.ts';
import { AcceptedMessage } from '../messages/schemas.ts';
import { SendMessage } from './schemas.ts';
import { REPLAYED_HEADER, SEND_PROBLEMS } from './send-problems.ts';

export function sendBatch(deps: {
  acceptor: MessageAcceptor;
  rateLimiter: RateLimiter;
  baseUrl: string;
  batchMax: number;
}): Operation {
  const bodyOf = (message: TSchema) =>
    closed(
      {
        messages: Type.Array(message, { minItems: 1, maxItems: deps.batchMax }),
        mode: Type.Optional(oneOf(['strict', 'permissive'] as const, { default: 'strict' })),
      },
      { title: 'SendBatch' },
    );
  const validateMessages = listValidator(SendMessage, (body, invalid) =>
    deps.acceptor.checkRemainingFields(invalid, body),
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
          body: Type.Object(
            {
              data: Type.Array(
                Type.Union([
                  Type.Object({ index: Type.Integer(), message: AcceptedMessage }),
                  Type.Object({ index: Type.Integer(), error: Problem }),
                ]),
              ),
            },
            { title: 'BatchResult' },
          ),
          headers: REPLAYED_HEADER,
        },
      },
      problems: SEND_PROBLEMS,
      handlesIdempotency: true,
    },
    async ({ caller, body, idempotency, requestId }) => {
      const write = (items: BatchItem[]) => ({
        status: 202,
        body: JSON.stringify({
          data: items.map((item) =>
            'error' in item
              ? {
                  index: item.index,
                  error: toProblemResponse(item.error, requestId, deps.baseUrl).problem,
                }
              : item,
          ),
        }),
      });
      // The request itself has been counted.
      const rate = deps.rateLimiter.charge(caller.workspaceId, body.messages.length - 1);
      const errors = validateMessages(body.messages);
      const { response, replayed } = await deps.acceptor.acceptBatch(
        caller,
        body.messages.map((message, index) => errors[index] ?? (message as SendRequest)),
        body.mode !== 'permissive',
        idempotency,
        write,
      );
      const headers = {
        ratelimit: rateLimitHeader('workspace', rate),
        ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
      };
      return { status: response.status, body: response.body, headers };
    },
  );
}
