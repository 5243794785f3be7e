import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function deleteTestInboxMessage(deps: { inbox: TestInbox }): Operation {
  return operation(
    {
      id: 'deleteTestInboxMessage',
      method: 'DELETE',
      path: '/test/inbox/{id}',
      tag: 'Test inbox',
      summary: 'Delete a test message',
      description: 'Removes it from the inbox. The message itself is kept.',
      scope: 'write:messages',
      mode: 'test',
      params: pathId('msg', 'the message'),
      responses: { 204: { description: 'It was removed from the inbox.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      await deps.inbox.remove(caller.workspaceId, id);
      return { status: 204 };
    },
  );
}
