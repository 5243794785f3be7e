import { Type } from 'typebox';
import type { ContentArchive } from '../messages/archive/content-archive.ts';
import { closed } from './openapi/shared-schemas.ts';
import { type Operation, operation } from './operation.ts';
import type { LargeResponseLimiter } from './server/large-response-limiter.ts';
import { decodePathId, notFound } from './validation/path-id.ts';

/**
 * Reads one attachment of a message. It has no path of its own: other surfaces call it. Mail that is sent
 * as its sender composed it is stored as a whole and has no separate attachments.
 */
export function getAttachment(deps: {
  contents: ContentArchive;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getAttachment',
      method: 'GET',
      path: '',
      tag: 'Messages',
      summary: 'Retrieve an attachment',
      scope: 'read:messages',
      query: closed({ message_id: Type.String(), index: Type.Integer({ minimum: 0 }) }),
      responses: { 200: { description: 'The attachment.' } },
    },
    async ({ caller, query, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const id = decodePathId('msg', query.message_id, 'message');
      const content = await deps.contents.find(caller, id);
      const file = content?.head.original ? undefined : content?.attachments[query.index];
      if (!file) throw notFound('attachment');
      return { status: 200, body: file };
    },
  );
}
