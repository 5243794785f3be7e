import type { Pool } from '../../../db/connections/pool.ts';
import { publicEvent, readTimeline } from '../../../events/events-store.ts';
import { viewContent } from '../../../messages/content/content-view.ts';
import { findContent } from '../../../messages/content/message-content-store.ts';
import { findMessage } from '../../../messages/lookup/message-store.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';
import { Message } from './schemas.ts';

export function getMessage(deps: { pool: Pool; largeAnswers: LargeResponseLimiter }): Operation {
  return operation(
    {
      id: 'getMessage',
      method: 'GET',
      path: '/messages/{id}',
      tag: 'Messages',
      summary: 'Retrieve a message',
      description: 'Includes the status of every recipient and the timeline of events.',
      scope: 'read:messages',
      params: pathId('msg', 'the message'),
      responses: { 200: { description: 'The message.', body: Message } },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      // The response is small, but computing its size composes the whole message.
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      const message = await findMessage(deps.pool, caller, id);
      if (!message) throw notFound('message');
      const [content, timeline] = await Promise.all([
        findContent(deps.pool, caller, id),
        readTimeline(deps.pool, caller, id),
      ]);
      const view =
        content && (await viewContent(caller.workspaceId, id, message.createdAtMs, content));
      return {
        status: 200,
        body: {
          ...publicMessage(message),
          size_bytes: view?.size_bytes ?? null,
          events: timeline.map(publicEvent),
        },
      };
    },
  );
}
