import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import { compose } from '../../../mail/mime/compose.ts';
import type { ContentArchive } from '../../../messages/archive/content-archive.ts';
import { toOutgoing } from '../../../messages/content/message-content.ts';
import { findMessage } from '../../../messages/lookup/message-store.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';

export function getMessageRaw(deps: {
  pool: Pool;
  contents: ContentArchive;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getMessageRaw',
      method: 'GET',
      path: '/messages/{id}/raw',
      tag: 'Messages',
      summary: 'Download a message as .eml',
      description: 'The composed message, without the signatures that are added when it is sent.',
      scope: 'read:messages',
      params: pathId('msg', 'the message'),
      responses: {
        200: {
          description: 'The message.',
          mediaType: 'message/rfc822',
          body: Type.String(),
          headers: {
            'Content-Disposition': { description: 'The file name.', schema: Type.String() },
          },
        },
      },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const given = (params as { id: string }).id;
      const id = decodePathId('msg', given, 'message');
      const message = await findMessage(deps.pool, caller, id);
      const content = message && (await deps.contents.find(caller, id));
      if (!content) throw notFound('message');
      const dateMs = Math.max(message.createdAtMs, message.scheduledAtMs ?? 0);
      return {
        status: 200,
        body: compose(toOutgoing(id, dateMs, content)),
        mediaType: 'message/rfc822',
        headers: {
          'content-disposition': `attachment; filename="${given}.eml"`,
          'x-content-type-options': 'nosniff',
        },
      };
    },
  );
}
