import { Type } from 'typebox';
import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import { downloadDisposition } from '../../../mail/mime/attachment.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';

export function getInboundMessageAttachment(deps: {
  inboundMessages: InboundMessages;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getInboundMessageAttachment',
      method: 'GET',
      path: '/inbound-messages/{id}/attachments/{index}',
      tag: 'Inbound messages',
      summary: 'Download an attachment of an inbound message',
      description:
        'The decoded file. The response always has the type `application/octet-stream`, because ' +
        'anyone can send one: the type that its sender declared is `content_type` of the ' +
        'attachment. 404 after the content has been deleted.',
      scope: 'read:inbound_messages',
      params: Type.Object({
        id: Type.String({
          description: 'The id of the inbound message.',
          examples: ['inm_01kc8x3f7ye6qvj2m4n5p6q7r8'],
        }),
        index: Type.String({
          description: 'The `index` of the attachment, from 0.',
          examples: ['0'],
        }),
      }),
      responses: {
        200: {
          description: 'The file.',
          mediaType: 'application/octet-stream',
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
      const { id: given, index } = params as { id: string; index: string };
      const id = decodePathId('inm', given, 'inbound message');
      const file = /^\d{1,6}$/.test(index)
        ? await deps.inboundMessages.attachment(caller, id, Number(index))
        : undefined;
      if (!file) throw notFound('attachment');
      return {
        status: 200,
        body: Buffer.from(file.content),
        mediaType: 'application/octet-stream',
        headers: {
          'content-disposition': downloadDisposition(file.filename ?? `attachment-${index}`),
          'content-security-policy': 'sandbox',
          'x-content-type-options': 'nosniff',
        },
      };
    },
  );
}
