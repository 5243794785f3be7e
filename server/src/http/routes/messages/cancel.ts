import type { MessageChanges } from '../../../messages/change-message.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { MessageSummary } from './schemas.ts';

export function cancelMessage(deps: { changes: MessageChanges }): Operation {
  return operation(
    {
      id: 'cancelMessage',
      method: 'POST',
      path: '/messages/{id}/cancel',
      tag: 'Messages',
      summary: 'Cancel a message',
      description: 'Works until it is on the wire; recipients that are final stay as they are.',
      scope: 'write:messages',
      params: pathId('msg', 'the message'),
      responses: { 200: { description: 'The message, cancelled.', body: MessageSummary } },
      problems: ['not_found', 'not_cancellable'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      return { status: 200, body: publicMessage(await deps.changes.cancel(caller, id)) };
    },
  );
}
