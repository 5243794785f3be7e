import type { MessageChanges } from '../../../messages/change-message.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { messageIn } from './examples.ts';
import { MessageSummary } from './schemas.ts';

export function retryMessage(deps: { changes: MessageChanges }): Operation {
  return operation(
    {
      id: 'retryMessage',
      method: 'POST',
      path: '/messages/{id}/retry',
      tag: 'Messages',
      summary: 'Retry a message',
      description:
        'Deferred recipients become due now; their expiry does not change. Bounced, failed and expired recipients are queued again with the lifetime of a new message: `ttl_seconds`, or the retry window. A recipient that is suppressed by then, for example after a hard bounce, becomes `suppressed`: delete the suppression first.',
      scope: 'write:messages',
      params: pathId('msg', 'the message'),
      responses: {
        200: {
          description: 'The message, queued again.',
          body: MessageSummary,
          example: messageIn('queued', { next_attempt_at: '2026-11-15T09:31:00.000Z' }),
        },
      },
      problems: ['not_found', 'not_retryable'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      return { status: 200, body: publicMessage(await deps.changes.retry(caller, id)) };
    },
  );
}
