import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeAnswers } from '../../server/large-response-limiter.ts';
import { uuidOf } from '../../validation/path-id.ts';
import { InboxMessage } from './schemas.ts';

export function getTestInboxMessage(deps: {
  inbox: TestInbox;
  largeAnswers: LargeAnswers;
}): Operation {
  return operation(
    {
      id: 'getTestInboxMessage',
      method: 'GET',
      path: '/test/inbox/{id}',
      tag: 'Test inbox',
      summary: 'Open test mail',
      description: 'With its links and one-time codes. The inbox alone shows secret variables.',
      scope: 'read:messages',
      testKeysOnly: true,
      params: pathId('msg', 'the message'),
      answers: { 200: { description: 'The mail.', body: InboxMessage } },
      refusals: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.begin(caller.workspaceId, signal);
      const id = uuidOf('msg', (params as { id: string }).id, 'message');
      return { status: 200, body: await deps.inbox.get(caller.workspaceId, id) };
    },
  );
}
