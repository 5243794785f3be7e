import type { Pool } from '../../../db/connections/pool.ts';
import type { ContentArchive } from '../../../messages/archive/content-archive.ts';
import { viewContent } from '../../../messages/content/content-view.ts';
import { findMessage } from '../../../messages/lookup/message-store.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';
import { MessageContent } from './schemas.ts';

export function getMessageContent(deps: {
  pool: Pool;
  contents: ContentArchive;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getMessageContent',
      method: 'GET',
      path: '/messages/{id}/content',
      tag: 'Messages',
      summary: 'Retrieve a message’s content',
      description: 'Kept for 30 days unless the operator configures otherwise; after that, 404.',
      scope: 'read:messages',
      params: pathId('msg', 'the message'),
      responses: { 200: { description: 'The content.', body: MessageContent } },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const id = decodePathId('msg', (params as { id: string }).id, 'message');
      const message = await findMessage(deps.pool, caller, id);
      const content = message && (await deps.contents.find(caller, id));
      if (!content) throw notFound('message');
      const body = await viewContent(caller.workspaceId, id, message.createdAtMs, content);
      return { status: 200, body };
    },
  );
}
