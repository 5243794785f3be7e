import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { operation } from '../../operation.ts';

export function clearTestInbox(parts: { inbox: TestInbox }) {
  return operation(
    {
      id: 'clearTestInbox',
      method: 'DELETE',
      path: '/test/inbox',
      tag: 'Test inbox',
      summary: 'Empty the test inbox',
      description: 'The messages themselves stay on record.',
      scope: 'write:messages',
      testKeysOnly: true,
      answers: { 204: { description: 'The inbox is empty.' } },
    },
    async ({ caller }) => {
      await parts.inbox.clear(caller.workspaceId);
      return { status: 204 };
    },
  );
}
