import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import { findAttempts, findMessage } from '../../../messages/lookup/message-store.ts';
import { publicAttempt } from '../../../messages/lookup/public-message.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';
import { Attempt } from './schemas.ts';

export function listMessageAttempts(deps: { pool: Pool }): Operation {
  return operation(
    {
      id: 'listMessageAttempts',
      method: 'GET',
      path: '/messages/{id}/attempts',
      tag: 'Messages',
      summary: 'List delivery attempts',
      description:
        'Includes the SMTP conversation of each attempt. A bounce that arrives later is not an ' +
        'attempt: it appears in the message’s timeline with its `report`.',
      scope: 'read:messages',
      params: pathId('msg', 'the message'),
      responses: {
        200: {
          description: 'The attempts, oldest first.',
          body: Type.Object({ data: Type.Array(Attempt) }, { title: 'AttemptList' }),
        },
      },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      if (!(await findMessage(deps.pool, caller, id))) throw notFound('message');
      const attempts = await findAttempts(deps.pool, caller, id);
      return { status: 200, body: { data: attempts.map(publicAttempt) } };
    },
  );
}
