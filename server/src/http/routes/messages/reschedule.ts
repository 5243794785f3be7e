import { Type } from 'typebox';
import type { MessageChanges } from '../../../messages/change-message.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';
import { closed, pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { messageIn } from './examples.ts';
import { MessageSummary } from './schemas.ts';

export function rescheduleMessage(deps: { changes: MessageChanges }): Operation {
  return operation(
    {
      id: 'rescheduleMessage',
      method: 'PATCH',
      path: '/messages/{id}',
      tag: 'Messages',
      summary: 'Reschedule a message',
      scope: 'write:messages',
      params: pathId('msg', 'the message'),
      body: closed(
        {
          scheduled_at: Type.Union(
            [Type.String({ format: 'date-time', maxLength: 64 }), Type.Null()],
            {
              description: 'RFC 3339 with an offset, at most 30 days ahead. `null` sends it now.',
            },
          ),
        },
        { title: 'RescheduleMessage' },
      ),
      examples: {
        later: { summary: 'Another time', value: { scheduled_at: '2026-11-30T09:00:00+01:00' } },
        now: { summary: 'Now', value: { scheduled_at: null } },
      },
      responses: {
        200: {
          description: 'The rescheduled message.',
          body: MessageSummary,
          example: messageIn('scheduled', {
            scheduled_at: '2026-11-30T08:00:00.000Z',
            next_attempt_at: '2026-11-30T08:00:00.000Z',
          }),
        },
      },
      problems: ['not_found', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      const message = await deps.changes.reschedule(caller, id, body.scheduled_at);
      return { status: 200, body: publicMessage(message) };
    },
  );
}
