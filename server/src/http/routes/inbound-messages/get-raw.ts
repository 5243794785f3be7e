import { Type } from 'typebox';
import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';

export function getInboundMessageRaw(deps: {
  inboundMessages: InboundMessages;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getInboundMessageRaw',
      method: 'GET',
      path: '/inbound-messages/{id}/raw',
      tag: 'Inbound messages',
      summary: 'Download an inbound message as .eml',
      description:
        'The message byte for byte as it was received, after the `Received` field of this server. ' +
        'Its signatures can be verified. 404 after the content has been deleted.',
      scope: 'read:inbound_messages',
      params: pathId('inm', 'the inbound message'),
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
      const id = decodePathId('inm', given, 'inbound message');
      const raw = await deps.inboundMessages.raw(caller, id);
      if (!raw) throw notFound('inbound message');
      return {
        status: 200,
        body: raw,
        mediaType: 'message/rfc822',
        headers: {
          'content-disposition': `attachment; filename="${given}.eml"`,
          'x-content-type-options': 'nosniff',
        },
      };
    },
  );
}
