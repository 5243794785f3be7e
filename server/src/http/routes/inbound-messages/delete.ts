import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';

export function deleteInboundMessage(deps: { inboundMessages: InboundMessages }): Operation {
  return operation(
    {
      id: 'deleteInboundMessage',
      method: 'DELETE',
      path: '/inbound-messages/{id}',
      tag: 'Inbound messages',
      summary: 'Delete an inbound message',
      description:
        'Deletes the message and its content permanently. Its event remains in the event log, ' +
        'with the addresses and the subject, until it expires.',
      scope: 'write:inbound_messages',
      params: pathId('inm', 'the inbound message'),
      responses: { 204: { description: 'The inbound message was deleted.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('inm', (params as { id: string }).id, 'inbound message');
      if (!(await deps.inboundMessages.delete(caller, id))) throw notFound('inbound message');
      return { status: 204 };
    },
  );
}
