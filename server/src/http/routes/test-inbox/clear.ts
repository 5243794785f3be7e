import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { type Operation, operation } from '../../operation.ts';

export function clearTestInbox(deps: { inbox: TestInbox }): Operation {
  return operation(
    {
      id: 'clearTestInbox',
      method: 'DELETE',
      path: '/test/inbox',
      tag: 'Test inbox',
      summary: 'Clear the test inbox',
      description: 'The messages themselves are kept.',
      scope: 'write:messages',
      mode: 'test',
      responses: { 204: { description: 'The inbox is empty.' } },
    },
    async ({ caller }) => {
      await deps.inbox.clear(caller.workspaceId);
      return { status: 204 };
    },
  );
}
