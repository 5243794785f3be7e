import { Type } from 'typebox';
import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { parseAddressParameter } from '../../validation/query-parameters.ts';
import { InboxMessage } from './schemas.ts';

const TIMEOUT_DEFAULT_SECONDS = 30;

export function waitForTestMessage(deps: { inbox: TestInbox }): Operation {
  return operation(
    {
      id: 'waitForTestMessage',
      method: 'GET',
      path: '/test/inbox/wait',
      tag: 'Test inbox',
      summary: 'Wait for a test message',
      description:
        'Returns as soon as a matching message arrives, or immediately if one has arrived that ' +
        'no wait has returned yet. Each message is returned once. Returns `message: null` on ' +
        'timeout.',
      scope: 'read:messages',
      mode: 'test',
      consumesOnRead: true,
      query: closed({
        to: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description: 'A recipient’s address.',
            examples: ['jane@example.com'],
          }),
        ),
        subject: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 500,
            description: 'Text that the subject must contain.',
          }),
        ),
        timeout: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 60,
            default: TIMEOUT_DEFAULT_SECONDS,
            description: 'Seconds to wait.',
          }),
        ),
      }),
      queryParsers: [(query) => parseAddressParameter('recipientKey', 'to', query)],
      responses: {
        200: {
          description: 'The message, or null.',
          body: Type.Object(
            { message: Type.Union([InboxMessage, Type.Null()]) },
            { title: 'AwaitedMessage' },
          ),
        },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const { subject } = query;
      const wanted = {
        ...parseAddressParameter('recipientKey', 'to', query),
        ...(subject === undefined ? {} : { subject }),
      };
      const timeoutMs = (query.timeout ?? TIMEOUT_DEFAULT_SECONDS) * 1000;
      const message = await deps.inbox.wait(caller.workspaceId, wanted, timeoutMs, signal);
      return { status: 200, body: { message: message ?? null } };
    },
  );
}
