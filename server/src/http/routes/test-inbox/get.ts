import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { InboxMessage } from './schemas.ts';

export function getTestInboxMessage(deps: {
  inbox: TestInbox;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getTestInboxMessage',
      method: 'GET',
      path: '/test/inbox/{id}',
      tag: 'Test inbox',
      summary: 'Retrieve a test message',
      description:
        'Includes its links and one-time codes. Only the test inbox shows secret variables.',
      scope: 'read:messages',
      mode: 'test',
      params: pathId('msg', 'the message'),
      responses: { 200: { description: 'The test message.', body: InboxMessage } },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      return { status: 200, body: await deps.inbox.get(caller.workspaceId, id) };
    },
  );
}
