import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import { publicInboundMessageWithContent } from '../../../inbound/public-inbound-message.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';
import { InboundMessage } from './schemas.ts';

export function getInboundMessage(deps: {
  inboundMessages: InboundMessages;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getInboundMessage',
      method: 'GET',
      path: '/inbound-messages/{id}',
      tag: 'Inbound messages',
      summary: 'Retrieve an inbound message',
      description:
        'Includes the text, the HTML and all headers. The HTML is what the sender wrote: show it ' +
        'only in a sandboxed frame. Content is kept for as long as that of sent messages, 30 ' +
        'days unless the operator configures otherwise; after that, `text` and `html` are null ' +
        'and `headers` is empty.',
      scope: 'read:inbound_messages',
      params: pathId('inm', 'the inbound message'),
      responses: { 200: { description: 'The inbound message.', body: InboundMessage } },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const id = decodePathId('inm', (params as { id: string }).id, 'inbound message');
      const message = await deps.inboundMessages.find(caller, id);
      if (!message) throw notFound('inbound message');
      const content = await deps.inboundMessages.content(caller, id);
      return { status: 200, body: publicInboundMessageWithContent(message, content) };
    },
  );
}
