import type { MessageChanges } from '../../../messages/change-message.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { messageIn } from './examples.ts';
import { MessageSummary } from './schemas.ts';

export function cancelMessage(deps: { changes: MessageChanges }): Operation {
  return operation(
    {
      id: 'cancelMessage',
      method: 'POST',
      path: '/messages/{id}/cancel',
      tag: 'Messages',
      summary: 'Cancel a message',
      description:
        'Works until delivery starts. Recipients that are already final are not changed.',
      scope: 'write:messages',
      params: pathId('msg', 'the message'),
      responses: {
        200: {
          description: 'The cancelled message.',
          body: MessageSummary,
          example: messageIn('cancelled', {}),
        },
      },
      problems: ['not_found', 'not_cancellable'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      return { status: 200, body: publicMessage(await deps.changes.cancel(caller, id)) };
    },
  );
}
