import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { OUTBOUND } from './stream.ts';

/** https://postmarkapp.com/developer/api/message-streams-api */

const STREAM = {
  ID: OUTBOUND,
  Name: 'Transactional',
  Description: 'All mail of the workspace.',
  MessageStreamType: 'Transactional',
  ArchivedAt: null,
  SubscriptionManagementConfiguration: { UnsubscribeHandlingType: 'None' },
};

export function streamOperations(): Operation[] {
  return [
    operation(
      {
        id: 'postmarkListStreams',
        method: 'GET',
        path: '/message-streams',
        tag: 'Service',
        summary: 'List message streams',
        scope: 'any',
        query: closed({
          messageStreamType: Type.Optional(Type.String()),
          includeArchivedStreams: Type.Optional(Type.Boolean()),
        }),
        responses: { 200: { description: 'The stream.', body: Type.Object({}) } },
      },
      ({ query: { messageStreamType: type = 'All' } }) => {
        const streams = ['All', STREAM.MessageStreamType].includes(type) ? [STREAM] : [];
        return { status: 200, body: { TotalCount: streams.length, MessageStreams: streams } };
      },
    ),
    operation(
      {
        id: 'postmarkGetStream',
        method: 'GET',
        path: '/message-streams/{stream}',
        tag: 'Service',
        summary: 'Retrieve a message stream',
        scope: 'any',
        params: Type.Object({ stream: Type.String() }),
        responses: { 200: { description: 'The stream.', body: Type.Object({}) } },
      },
      ({ params: { stream } }) => {
        if (stream === OUTBOUND) return { status: 200, body: STREAM };
        throw new RefusedError('not_found', `There is no stream "${stream}".`);
      },
    ),
  ];
}
